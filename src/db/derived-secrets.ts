/** The derived secrets of the installation; they come in sealed. */
import type { PrismaClient } from './generated/client.ts';

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
