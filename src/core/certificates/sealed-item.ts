/** How every item that the vault sealed begins, also where it is read without a key (src/db/issuance/sealed-columns.ts). */
export const sealedItem = {
  /** The first byte. */
  version: 1,
  /** The version and the 8 bytes that name the key encryption key. */
  headerBytes: 9,
} as const;
