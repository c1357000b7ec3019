/** ACME accounts, the local CA's root, and derived secrets. Callers seal and open keys. */
import type { PrismaClient } from '../generated/client.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** `accountUrl`: null until it is registered. */
type KeptAccount = {
  readonly sealedKey: Bytes;
  readonly accountUrl: string | null;
  /** The email address last sent to the CA. */
  readonly contact: string | null;
};

/** One account per CA, and one root. If several processes store one at once, all get the first. */
export type AuthorityKeyStore = {
  loadAccount(directoryUrl: string): Promise<KeptAccount | null>;
  /** Unless one exists; returns the stored account. */
  keepAccountKey(directoryUrl: string, sealedKey: Bytes): Promise<KeptAccount>;
  /** Rejects if no key is stored. */
  storeAccount(
    directoryUrl: string,
    account: { url: string; contact: string | null },
  ): Promise<void>;
  /** In PEM, with its sealed key. */
  loadRoot(): Promise<{ certificate: string; sealedKey: Bytes } | null>;
  /** Unless one exists; returns the stored one. */
  keepRoot(root: {
    certificate: string;
    sealedKey: Bytes;
  }): Promise<{ certificate: string; sealedKey: Bytes }>;
};

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

/** They outlive the key they were derived from (src/certificates/vault/derived-secrets.ts). */
export type DerivedSecretStore = {
  load(): Promise<readonly SealedSecret[]>;
  /** Those whose name is missing. The first process wins, so load them again afterwards. */
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
