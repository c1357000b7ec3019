/** What the tests of deliveries share: a database with its stores, webhooks, and what they are sent. */
import { randomUUID } from 'node:crypto';
import { createDeliveryStore } from '../../src/db/delivery/deliveries.ts';
import { createWebhookStore, type WebhookOwner } from '../../src/db/delivery/webhooks.ts';
import { noon } from '../support/builders.ts';
import type { StorageName } from '../support/storage.ts';
import { openStoredDomains, type StoredDomain } from '../support/stored-domains.ts';

export type StoredDeliveries = Awaited<ReturnType<typeof openStoredDeliveries>>;

export async function openStoredDeliveries(name: StorageName) {
  const stored = await openStoredDomains(name);
  const { prisma } = stored.database;
  const webhooks = createWebhookStore(prisma);
  const deliveries = createDeliveryStore(prisma);
  return {
    ...stored,
    prisma,
    webhooks,
    deliveries,
    /** A domain of a project of its own, whose events no webhook of before is told. */
    async anotherDomain() {
      await prisma.webhook.deleteMany();
      return stored.pending(`${randomUUID()}.example.com`);
    },
    /** A domain of a project of an account. */
    async domainOf(accountId: string): Promise<StoredDomain> {
      const made = await stored.pending(`${randomUUID()}.example.com`);
      await prisma.account.upsert({
        where: { id: accountId },
        create: { id: accountId, name: 'A' },
        update: {},
      });
      await prisma.project.update({ where: { id: made.projectId }, data: { accountId } });
      return made;
    },
    /** Told the events of a project, or of every one. */
    async makeWebhook(owner: WebhookOwner, eventTypes: readonly string[] = []) {
      const made = await webhooks.create(
        {
          id: randomUUID(),
          owner,
          url: 'https://hooks.example.com/',
          eventTypes,
          sealedSecret: new Uint8Array([1]),
          createdAt: noon,
        },
        10,
      );
      if (made === null) throw new Error('there was no place');
      return { ...made, owner };
    },
    /** In the order of their events. */
    rowsOf: (webhookId: string) =>
      prisma.webhookDelivery.findMany({ where: { webhookId }, orderBy: { eventId: 'asc' } }),
    async loadDelivery(id: string) {
      const delivery = await deliveries.load(id);
      if (delivery === null) throw new Error('no delivery');
      return delivery;
    },
  };
}
