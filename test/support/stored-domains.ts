/** Domains in a real database, in the initial state of a test. */

import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { wholeInstallation } from '../../src/core/access.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import { splitAtZone } from '../../src/core/names/zone.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { aCheckSave, missing, noon, right } from './builders.ts';
import { freshStorage, type StorageName } from './storage.ts';

export type StoredDomains = {
  readonly database: Database;
  /** A pending domain of a new project, in the default account unless another is given. */
  pending(hostname: string, accountId?: string): Promise<LoadedDomain>;
  /** A verified domain of a new project. The addresses of an apex came after the claim. */
  verified(hostname: string, accountId?: string): Promise<LoadedDomain>;
  load(id: string): Promise<LoadedDomain>;
  /** Saves a check like a worker that loaded this domain. */
  check(
    domain: LoadedDomain,
    diagnosis: Diagnosis,
    at?: Date,
    provenAgainst?: readonly string[],
  ): ReturnType<ReturnType<typeof createCheckStore>['save']>;
  /** The types of its events, oldest first. */
  events(domain: LoadedDomain): Promise<string[]>;
  close(): Promise<void>;
};

export async function openStoredDomains(name?: StorageName): Promise<StoredDomains> {
  const fresh = await freshStorage(name);
  const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  const { prisma } = database;
  const checks = createCheckStore(database);

  async function load(id: string): Promise<LoadedDomain> {
    const domain = await checks.load(id);
    if (domain === undefined) throw new Error('no such domain');
    return domain;
  }

  async function pending(hostname: string, accountId?: string): Promise<LoadedDomain> {
    const slug = `p-${randomUUID()}`;
    const project = await createProjectStore(prisma).create(wholeInstallation, {
      name: 'P',
      slug,
      plan: 'pro',
      accountId,
    });
    const projectId = project?.id ?? '';
    const domain = { projectId, hostname, target: `${slug}.edge.test` };
    const added = await createDomainStore(prisma).add(wholeInstallation, domain, noon);
    return load(added?.id ?? '');
  }

  const check: StoredDomains['check'] = (
    domain,
    { verdict, findings },
    at = noon,
    provenAgainst,
  ) => {
    return checks.save({
      ...aCheckSave(domain, { verdict, findings }, at),
      ...(provenAgainst !== undefined && { provenAgainst }),
    });
  };

  return {
    database,
    load,
    pending,
    check,
    async verified(hostname, accountId) {
      const domain = await pending(hostname, accountId);
      if (splitAtZone(hostname).apex) await check(domain, missing);
      await check(await load(domain.id), right);
      return load(domain.id);
    },
    async events({ id }) {
      const rows = await prisma.event.findMany({ where: { domainId: id }, orderBy: { id: 'asc' } });
      return rows.map(({ type }) => type);
    },
    async close() {
      await database.close();
      await fresh.close();
    },
  };
}
