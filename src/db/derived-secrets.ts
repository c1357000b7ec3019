/** The derived secrets of the installation; they come in sealed. */
import type { DerivedSecretStore } from '../derived-secrets.ts';
import type { PrismaClient } from './generated/client.ts';

export function createDerivedSecretStore(prisma: PrismaClient): DerivedSecretStore {
  return {
    load: () => prisma.derivedSecret.findMany(),
    async keep(secrets) {
      await prisma.derivedSecret.createMany({ data: [...secrets], skipDuplicates: true });
    },
  };
}
