/** Path and query of the next page of a list, without the base path; undefined if it is the last. */
export function nextPathIn(link: string | null | undefined): string | undefined {
  return /<[^>]*?(\/v1\/[^>]*)>; rel="next"/.exec(link ?? '')?.[1];
}
