/** A platform's own keys and values on a project or a domain. */
export type Metadata = Readonly<Record<string, string>>;

/** Null removes the key; missing keys stay. */
export type MetadataChange = Readonly<Record<string, string | null>>;

/**
 * `key` and `value` in characters, as Stripe limits them (https://docs.stripe.com/metadata); `bytes`
 * of all keys and values in UTF-8, because lists, events and webhooks repeat them.
 */
export const metadataMax = { keys: 50, key: 40, value: 500, bytes: 8_192 } as const;

export type MetadataProblem = 'too_many_keys' | 'metadata_too_large';

/** Metadata of 0.2.0 can have more bytes; a change is accepted unless it adds to them. */
export function mergeMetadata(
  current: Metadata,
  change: MetadataChange,
): Metadata | MetadataProblem {
  const merged = Object.entries({ ...current, ...change }).flatMap(([key, value]) =>
    value === null ? [] : [[key, value] as const],
  );
  if (merged.length > metadataMax.keys) return 'too_many_keys';
  const metadata = Object.fromEntries(merged);
  const bytesMax = Math.max(metadataMax.bytes, metadataBytes(current));
  return metadataBytes(metadata) > bytesMax ? 'metadata_too_large' : metadata;
}

export function metadataBytes(metadata: Metadata): number {
  return new TextEncoder().encode(Object.entries(metadata).flat().join('')).length;
}

/** A stored column. */
export function metadataIn(stored: unknown): Metadata {
  return stored as Metadata; // only written from Metadata
}
