import { DAY } from '../../src/core/time.ts';
import type { Database } from '../../src/db/engine/client.ts';

/** Backdates the certificate to 61 of its 90 days: its renewal is due. */
export async function age({ prisma }: Pick<Database, 'prisma'>, hostname: string): Promise<void> {
  const { id } = await prisma.domain.findFirstOrThrow({ where: { hostname, removedAt: null } });
  const issuedAt = new Date(Date.now() - 61 * DAY);
  const expiresAt = new Date(Date.now() + 29 * DAY);
  await prisma.certificate.updateMany({ where: { domainId: id }, data: { issuedAt, expiresAt } });
  const due = { renewAt: new Date(), certificateEndsAt: expiresAt };
  await prisma.domain.update({ where: { id }, data: due });
}
