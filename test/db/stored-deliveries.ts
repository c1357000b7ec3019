/** A database with its stores, webhooks and deliveries, for tests of deliveries. */

import { randomUUID } from 'node:crypto';
import { wholeInstallation } from '../../src/core/access.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import { createDeliveryStore } from '../../src/db/delivery/deliveries.ts';
import { createWebhookStore, type WebhookOwner } from '../../src/db/delivery/webhooks.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { noon } from '../support/builders.ts';
import type { StorageName } from '../support/storage.ts';
import { openStoredDomains } from '../support/stored-domains.ts';

export type StoredDeliveries = Awaited<ReturnType<typeof openStoredDeliveries>>;

export async function openStoredDeliveries(name: StorageName) {
  const stored = await openStoredDomains(name);
  const { prisma } = stored.database;
  const webhooks = createWebhookStore(prisma);
  const deliveries = createDeliveryStore(prisma);
  return {
    ...stored,
    prisma,
    accounts: createAccountStore(prisma),
    projects: createProjectStore(prisma),
    webhooks,
    deliveries,
    /** A domain of a new project, so that no earlier webhook receives its events. */
    async anotherDomain() {
      await prisma.webhook.deleteMany();
      return stored.pending(`${randomUUID()}.example.com`);
    },
    /** Receives the events of a project, or of all of them. */
    async makeWebhook(projectId: string | null, eventTypes: readonly string[] = []) {
      const made = await webhooks.create(
        ownerOf(projectId),
        {
          id: randomUUID(),
          url: 'https://hooks.example.com/',
          eventTypes,
          sealedSecret: new Uint8Array([1]),
          createdAt: noon,
        },
        10,
      );
      if (made === null) throw new Error('the webhook limit is reached');
      return made;
    },
    rowsOf: (webhookId: string) =>
      prisma.webhookDelivery.findMany({ where: { webhookId }, orderBy: { eventId: 'asc' } }),
    async loadDelivery(id: string) {
      const delivery = await deliveries.load(id);
      if (delivery === null) throw new Error('no delivery');
      return delivery;
    },
  };
}

/** Null: the operators. */
export function ownerOf(projectId: string | null): WebhookOwner {
  const access = wholeInstallation;
  return projectId === null ? { access, projectId: null } : { access, projectId };
}
