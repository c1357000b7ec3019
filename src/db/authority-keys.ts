/** What we keep of certificate authorities: our ACME account, and the local authority's root. Keys come in sealed. */
import type { PrismaClient } from './generated/client.ts';

type Bytes = Uint8Array<ArrayBuffer>;

export type AuthorityKeyStore = {
  /** Any sealed key that is stored, the newest certificate's first; null where there is none yet. */
  anySealedKey(): Promise<Bytes | null>;
  loadAccount(
    directoryUrl: string,
  ): Promise<{ sealedKey: Bytes; accountUrl: string | null } | null>;
  /** Keeps the key unless there is one by now, and gives back the one that counts. */
  keepAccountKey(
    directoryUrl: string,
    sealedKey: Bytes,
  ): Promise<{ sealedKey: Bytes; accountUrl: string | null }>;
  storeAccountUrl(directoryUrl: string, accountUrl: string): Promise<void>;
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
    async anySealedKey() {
      const [newest, account, root] = await Promise.all([
        prisma.certificate.findFirst({ orderBy: { createdAt: 'desc' } }),
        prisma.acmeAccount.findFirst(),
        prisma.localAuthority.findFirst(),
      ]);
      return (newest ?? account ?? root)?.sealedKey ?? null;
    },
    loadAccount: (directoryUrl) => prisma.acmeAccount.findUnique({ where: { directoryUrl } }),
    async keepAccountKey(directoryUrl, sealedKey) {
      await prisma.acmeAccount.createMany({
        data: [{ directoryUrl, sealedKey }],
        skipDuplicates: true,
      });
      return prisma.acmeAccount.findUniqueOrThrow({ where: { directoryUrl } });
    },
    async storeAccountUrl(directoryUrl, accountUrl) {
      await prisma.acmeAccount.update({ where: { directoryUrl }, data: { accountUrl } });
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
