/** Where the answer of one step of the climb for CAA stands, and whose it is to repair. */
import type { DiagnosisInput } from '../input.ts';
import { isSameName } from '../server-pointing.ts';
import { foreignName } from '../words.ts';

/**
 * Where the answer of one step of the climb stands, and whether it is the platform's to repair. The climb is made as if
 * the record were there, so a subdomain's own step is always that of the target.
 */
export function placeIn(
  { apex, wanted: { hostname, target } }: DiagnosisInput,
  name: string,
  publishedAt: string | undefined,
): { readonly publishedAt?: string; readonly ours?: true } {
  const isOurs =
    (!apex && isSameName(name, hostname)) ||
    (publishedAt !== undefined && isSameName(publishedAt, target));
  return {
    ...(publishedAt === undefined ? {} : { publishedAt }),
    ...(isOurs ? { ours: true } : {}),
  };
}

/** The name that holds the records, and the one it stands for. */
export function placeOf(name: string, publishedAt: string | undefined): string {
  return publishedAt === undefined
    ? foreignName(name)
    : `${foreignName(publishedAt)}, where ${foreignName(name)} leads`;
}
