/** The stores that need only the database. */
import { type AccountStore, createAccountStore } from '../db/accounts.ts';
import { type ApiKeyStore, createApiKeyStore } from '../db/api-keys.ts';
import { createDeliveryStore, type DeliveryStore } from '../db/delivery/deliveries.ts';
import { createWebhookStore, type WebhookStore } from '../db/delivery/webhooks.ts';
import { createDeployStore, type DeployStore } from '../db/deploys.ts';
import { type CheckStore, createCheckStore } from '../db/domains/checks.ts';
import {
  createDomainSettingsStore,
  type DomainSettingsStore,
} from '../db/domains/domain-settings.ts';
import { createDomainStore, type DomainStore } from '../db/domains/domains.ts';
import { createWaitingStore, type WaitingStore } from '../db/domains/waiting.ts';
import { createEventFeedStore, type EventFeedStore } from '../db/events.ts';
import { createPetStore, type PetStore } from '../db/pets.ts';
import { createProjectStore, type ProjectStore } from '../db/projects.ts';
import type { Opened } from './opened.ts';

export type Stores = {
  readonly accounts: AccountStore;
  readonly apiKeys: ApiKeyStore;
  readonly checks: CheckStore;
  readonly deliveries: DeliveryStore;
  readonly deploys: DeployStore;
  readonly domains: DomainStore;
  readonly events: EventFeedStore;
  readonly pets: PetStore;
  readonly projects: ProjectStore;
  readonly domainSettings: DomainSettingsStore;
  readonly waiting: WaitingStore;
  readonly webhooks: WebhookStore;
};

export function createStores({ config, database }: Pick<Opened, 'config' | 'database'>): Stores {
  const { prisma } = database;
  // Embedded storage runs one statement at a time.
  const concurrency = config.storage.kind === 'embedded' ? 1 : 2;
  return {
    accounts: createAccountStore(prisma),
    apiKeys: createApiKeyStore(prisma),
    checks: createCheckStore(database),
    deliveries: createDeliveryStore(prisma),
    deploys: createDeployStore(prisma),
    domains: createDomainStore(prisma),
    events: createEventFeedStore(database),
    pets: createPetStore(database, { concurrency }),
    projects: createProjectStore(prisma),
    domainSettings: createDomainSettingsStore(prisma),
    waiting: createWaitingStore(prisma),
    webhooks: createWebhookStore(prisma),
  };
}
