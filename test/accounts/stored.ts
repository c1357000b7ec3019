/** Everything that a customer has, as stored, to show that nothing changed. */
import type { Customer, TwoAccounts } from './two-accounts.ts';

const orderBy = { id: 'asc' } as const;

export async function storedOf(
  { service }: Pick<TwoAccounts, 'service'>,
  { accountId, projectId }: Customer,
) {
  const { prisma } = service.database;
  const where = { projectId };
  return {
    account: await prisma.account.findUnique({ where: { id: accountId } }),
    projects: await prisma.project.findMany({ where: { accountId }, orderBy }),
    deploys: await prisma.deploy.findMany({ where, orderBy }),
    domains: await prisma.domain.findMany({ where, include: { hsts: true }, orderBy }),
    events: await prisma.event.count({ where }),
    webhooks: await prisma.webhook.findMany({ where, orderBy }),
    deliveries: await prisma.webhookDelivery.findMany({ where: { event: where }, orderBy }),
    redirects: await prisma.redirect.findMany({ where }),
    sessions: await prisma.session.findMany({ where: { apiKey: { accountId } }, orderBy }),
    keys: await prisma.apiKey.findMany({
      where: { accountId, projectIds: { isEmpty: true } },
      omit: { lastUsedAt: true },
      orderBy,
    }),
  };
}
