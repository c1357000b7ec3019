import { createHash, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { wholeInstallation } from '../../../src/core/access.ts';
import { createDomainStore, type DomainStore } from '../../../src/db/domains/domains.ts';
import { type Database, openDatabase } from '../../../src/db/engine/client.ts';
import { createProjectStore, type ProjectStore } from '../../../src/db/projects.ts';
import type { ApiResponse } from '../../../src/http/pipeline/errors.ts';
import {
  createIdempotency,
  type Idempotency,
  type IdempotentRequest,
} from '../../../src/http/pipeline/idempotency.ts';
import { noon } from '../../support/builders.ts';
import { type FreshStorage, freshStorage, type StorageName } from '../../support/storage.ts';

export type Fixture = {
  readonly database: Database;
  readonly projects: ProjectStore;
  readonly domains: DomainStore;
  readonly clock: { now: Date };
  readonly idempotency: Idempotency;
  /** Another process on the same database, with its own connections. Not on embedded storage. */
  another(): Promise<Fixture>;
  close(): Promise<void>;
};

export async function openFixture(name: StorageName): Promise<Fixture> {
  const fresh = await freshStorage(name);
  const fixture = await openOver(fresh);
  return {
    ...fixture,
    async close() {
      await fixture.close();
      await fresh.close();
    },
  };
}

async function openOver(fresh: FreshStorage): Promise<Fixture> {
  const database = await openDatabase(fresh.storage, pino({ level: 'silent' }));
  const { prisma } = database;
  const clock = { now: noon };
  const others: Fixture[] = [];
  return {
    database,
    projects: createProjectStore(prisma),
    domains: createDomainStore(prisma),
    clock,
    idempotency: createIdempotency({ database, now: () => clock.now }),
    async another() {
      const other = await openOver(fresh);
      others.push(other);
      return other;
    },
    async close() {
      for (const other of others) await other.close();
      await database.close();
    },
  };
}

export function anAttempt({
  request = 'the request',
  ...parts
}: Partial<Omit<IdempotentRequest, 'fingerprint'>> & {
  readonly request?: string;
} = {}): IdempotentRequest {
  return {
    apiKeyId: 'key-1',
    operationId: 'createProject',
    key: randomUUID(),
    fingerprint: new Uint8Array(createHash('sha256').update(request).digest()),
    ...parts,
  };
}

export function making({ projects }: Fixture, slug: string): () => Promise<ApiResponse> {
  return async () => {
    const project = await projects.create(wholeInstallation, { name: 'P', slug, plan: 'pro' });
    if (project === null) throw new Error('made twice');
    return {
      status: 201,
      body: { id: project.id, slug, at: noon, big: 2n ** 63n - 1n },
      headers: { location: `/v1/projects/${project.id}` },
    };
  };
}

export function made({ database }: Fixture, slug: string): Promise<number> {
  return database.prisma.project.count({ where: { slug } });
}
