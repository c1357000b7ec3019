/** A platform's own keys and values on a project or a domain. */
export type Metadata = Readonly<Record<string, string>>;

/** Null removes the key; missing keys stay. */
export type MetadataChange = Readonly<Record<string, string | null>>;

/** In characters, except `keys`. As Stripe limits its metadata (https://docs.stripe.com/metadata). */
export const metadataMax = { keys: 50, key: 40, value: 500 } as const;

/** Null if more keys would result than a project or domain can have. */
export function mergeMetadata(current: Metadata, change: MetadataChange): Metadata | null {
  const merged = Object.entries({ ...current, ...change }).flatMap(([key, value]) =>
    value === null ? [] : [[key, value] as const],
  );
  return merged.length > metadataMax.keys ? null : Object.fromEntries(merged);
}

/** A stored column. */
export function metadataIn(stored: unknown): Metadata {
  return stored as Metadata; // only written from Metadata
}
