/**
 * Stored keys: our ACME accounts, the local CA's root, and derived secrets. All keys are sealed.
 */
import type { PrismaClient } from '../generated/client.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Our account at a CA. `accountUrl`: null until it is registered. */
type KeptAccount = {
  readonly sealedKey: Bytes;
  readonly accountUrl: string | null;
  /** The email address last sent to the CA; null: none, or not stored. */
  readonly contact: string | null;
};

/** One account per CA, and one root. If several processes store one at once, all get the first. */
export type AuthorityKeyStore = {
  /** Null if no key is stored for this CA. */
  loadAccount(directoryUrl: string): Promise<KeptAccount | null>;
  /** Stores the key unless one exists, and returns the stored account. */
  keepAccountKey(directoryUrl: string, sealedKey: Bytes): Promise<KeptAccount>;
  /** Stores the registered URL and email address. Rejects if no key is stored. */
  storeAccount(
    directoryUrl: string,
    account: { url: string; contact: string | null },
  ): Promise<void>;
  /** The certificate in PEM and its sealed key; null if none is stored. */
  loadRoot(): Promise<{ certificate: string; sealedKey: Bytes } | null>;
  /** Stores the root unless one exists, and returns the stored one. */
  keepRoot(root: {
    certificate: string;
    sealedKey: Bytes;
  }): Promise<{ certificate: string; sealedKey: Bytes }>;
};

/** The only root of an installation. */
const ROOT = 'root';

/** The caller seals and opens keys. */
export function createAuthorityKeyStore(prisma: PrismaClient): AuthorityKeyStore {
  return {
    loadAccount: (directoryUrl) => prisma.acmeAccount.findUnique({ where: { directoryUrl } }),
    async keepAccountKey(directoryUrl, sealedKey) {
      await prisma.acmeAccount.createMany({
        data: [{ directoryUrl, sealedKey }],
        skipDuplicates: true,
      });
      return prisma.acmeAccount.findUniqueOrThrow({ where: { directoryUrl } });
    },
    async storeAccount(directoryUrl, { url: accountUrl, contact }) {
      await prisma.acmeAccount.update({ where: { directoryUrl }, data: { accountUrl, contact } });
    },
    loadRoot: () => prisma.localAuthority.findUnique({ where: { id: ROOT } }),
    async keepRoot(root) {
      await prisma.localAuthority.createMany({
        data: [{ ...root, id: ROOT }],
        skipDuplicates: true,
      });
      return prisma.localAuthority.findUniqueOrThrow({ where: { id: ROOT } });
    },
  };
}

type SealedSecret = { readonly name: string; readonly sealedValue: Uint8Array<ArrayBuffer> };

/**
 * Secrets that outlive the key they were derived from (src/certificates/vault/derived-secrets.ts).
 */
export type DerivedSecretStore = {
  /** All of them, in no order. */
  load(): Promise<readonly SealedSecret[]>;
  /** Stores those whose name is missing. The first process wins, so load them again afterwards. */
  keep(secrets: readonly SealedSecret[]): Promise<void>;
};

/** The caller seals and opens values. */
export function createDerivedSecretStore(prisma: PrismaClient): DerivedSecretStore {
  return {
    load: () => prisma.derivedSecret.findMany(),
    async keep(secrets) {
      await prisma.derivedSecret.createMany({ data: [...secrets], skipDuplicates: true });
    },
  };
}
