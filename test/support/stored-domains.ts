/** Domains in a real database, brought to the state that a test begins with. */
import { pino } from 'pino';
import type { GrantedDomainId, GrantedProjectId } from '../../src/core/accounts/access.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { decideCheck } from '../../src/core/life/check.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import type { Proven } from '../../src/db/domains/transitions.ts';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { aStoredProject, granted } from './access.ts';
import { anObservation, noon, right } from './builders.ts';
import { freshStorage, type StorageName } from './storage.ts';

const HOUR = 3_600_000;

/** As a worker loads it, with ids that the stores of people's requests take. */
export type StoredDomain = LoadedDomain & {
  readonly id: GrantedDomainId;
  readonly projectId: GrantedProjectId;
};

export type StoredDomains = {
  readonly database: Database;
  /** A pending domain of a project of its own, whose first check has seen no address of ours. */
  pending(hostname: string): Promise<StoredDomain>;
  /** The same, its DNS right. */
  verified(hostname: string): Promise<StoredDomain>;
  load(id: string): Promise<StoredDomain>;
  /** Saves a check at it, as a worker that loaded it like this would. */
  check(
    domain: LoadedDomain,
    diagnosis: Diagnosis,
    at?: Date,
    proven?: Proven,
    observation?: Observation,
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

  async function load(id: string): Promise<StoredDomain> {
    const domain = await checks.load(id);
    if (domain === undefined) throw new Error('no such domain');
    return {
      ...domain,
      id: granted.domain(domain.id),
      projectId: granted.project(domain.projectId),
    };
  }

  async function pending(hostname: string): Promise<StoredDomain> {
    const { id: projectId, slug } = await aStoredProject(prisma);
    const claim = { target: `${slug}.edge.test`, claimNonce: `nonce of ${slug}` };
    const added = await createDomainStore(prisma).add({ projectId, hostname, ...claim }, noon);
    const id = added?.id ?? '';
    await prisma.domain.update({ where: { id }, data: { arrival: 'awaited' } });
    return load(id);
  }

  const check: StoredDomains['check'] = (
    domain,
    { verdict, findings, addresses },
    at = noon,
    proven,
    observation = anObservation(),
  ) => {
    const rules = {
      now: at,
      windowMs: 48 * HOUR,
      escalateAfterMs: HOUR,
      jitter: 0.5,
    };
    const outcome = decideCheck(domain, { verdict, findings, addresses }, rules);
    return checks.save({
      domain,
      observation,
      outcome,
      at,
      ...(proven && { proven }),
    });
  };

  return {
    database,
    load,
    pending,
    check,
    async verified(hostname) {
      const domain = await pending(hostname);
      await check(domain, right);
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
