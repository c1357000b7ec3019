/** What we keep of certificate authorities: our ACME account, and the local authority's root. Keys come in sealed. */
import type { PrismaClient } from '../generated/client.ts';

type Bytes = Uint8Array<ArrayBuffer>;

export type KeptAccount = {
  readonly sealedKey: Bytes;
  readonly accountUrl: string | null;
  /** What the authority was last told; null: no mail address, or one that was not kept. */
  readonly contact: string | null;
};

export type AuthorityKeyStore = {
  loadAccount(directoryUrl: string): Promise<KeptAccount | null>;
  /** Keeps the key unless there is one by now, and gives back the one that counts. */
  keepAccountKey(directoryUrl: string, sealedKey: Bytes): Promise<KeptAccount>;
  /** With the mail address that the authority was told. */
  storeAccount(
    directoryUrl: string,
    account: { url: string; contact: string | null },
  ): Promise<void>;
  loadRoot(): Promise<{ certificate: string; sealedKey: Bytes } | null>;
  /** As keepAccountKey, for the local authority's root. */
  keepRoot(root: {
    certificate: string;
    sealedKey: Bytes;
  }): Promise<{ certificate: string; sealedKey: Bytes }>;
};

/** The one root of an installation. */
const ROOT = 'root';

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

export type DerivedSecretStore = {
  load(): Promise<readonly SealedSecret[]>;
  /** Keeps those that are not there by now. */
  keep(secrets: readonly SealedSecret[]): Promise<void>;
};

export function createDerivedSecretStore(prisma: PrismaClient): DerivedSecretStore {
  return {
    load: () => prisma.derivedSecret.findMany(),
    async keep(secrets) {
      await prisma.derivedSecret.createMany({ data: [...secrets], skipDuplicates: true });
    },
  };
}
