import { unwrap } from './errors.ts';

type Page<Item> = {
  readonly data?: readonly Item[];
  readonly error?: unknown;
  readonly response: Response;
};

/**
 * Every item of a list. `load` gets the cursor of a page, undefined for the first one:
 * `pages((cursor) => signpost.GET('/domains', { params: { query: { cursor } } }))`. Throws like
 * `unwrap`.
 */
export async function* pages<Item>(
  load: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  let cursor: string | undefined;
  do {
    const answered = load(cursor);
    const items = await unwrap<readonly Item[]>(answered);
    yield* items;
    cursor = nextCursor((await answered).response);
  } while (cursor !== undefined);
}

function nextCursor({ headers }: Response): string | undefined {
  const [, target] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  return target === undefined
    ? undefined
    : (new URL(target, 'http://localhost').searchParams.get('cursor') ?? undefined);
}
