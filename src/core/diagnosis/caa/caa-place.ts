import { foreignName } from '../words.ts';

/** The name that holds the records, and the one that leads there. */
export function caaPlace(name: string, publishedAt: string | undefined): string {
  return publishedAt === undefined
    ? foreignName(name)
    : `${foreignName(publishedAt)}, where ${foreignName(name)} leads`;
}
