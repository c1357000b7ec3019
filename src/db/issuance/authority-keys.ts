/** What we keep of certificate authorities: our ACME account, and the local authority's root. Keys come in sealed. */
import type { PrismaClient } from '../generated/client.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Our account at an authority. `accountUrl` is null until it is registered. */
export type KeptAccount = {
  readonly sealedKey: Bytes;
  readonly accountUrl: string | null;
  /** The mail address that the authority was last given; null: none, or one that was not kept. */
  readonly contact: string | null;
};

/** One account for each authority, and one root: of several processes that keep one at once, all get the first. */
export type AuthorityKeyStore = {
  /** Null where no key was kept for this authority. */
  loadAccount(directoryUrl: string): Promise<KeptAccount | null>;
  /** Keeps the key unless there is one already, and returns the account that counts. */
  keepAccountKey(directoryUrl: string, sealedKey: Bytes): Promise<KeptAccount>;
  /** Stores what was registered, and the mail address that the authority was given. Rejects where no key was kept. */
  storeAccount(
    directoryUrl: string,
    account: { url: string; contact: string | null },
  ): Promise<void>;
  /** The certificate in PEM and its sealed key; null where none was kept yet. */
  loadRoot(): Promise<{ certificate: string; sealedKey: Bytes } | null>;
  /** Keeps the root unless there is one already, and returns the one that counts. */
  keepRoot(root: {
    certificate: string;
    sealedKey: Bytes;
  }): Promise<{ certificate: string; sealedKey: Bytes }>;
};

/** The one root of an installation. */
const ROOT = 'root';

/** Stores keys as they are given: sealing and opening them is the caller's part. */
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

/** Secrets that outlive the key that they were derived from (src/certificates/vault/derived-secrets.ts). */
export type DerivedSecretStore = {
  /** All of them, in no order. */
  load(): Promise<readonly SealedSecret[]>;
  /** Keeps those whose name is not there yet; of several processes the first one counts, so load them again afterwards. */
  keep(secrets: readonly SealedSecret[]): Promise<void>;
};

/** Stores values as they are given: sealing and opening them is the caller's part. */
export function createDerivedSecretStore(prisma: PrismaClient): DerivedSecretStore {
  return {
    load: () => prisma.derivedSecret.findMany(),
    async keep(secrets) {
      await prisma.derivedSecret.createMany({ data: [...secrets], skipDuplicates: true });
    },
  };
}
