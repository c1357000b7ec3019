/** Joins the processes of the installation, and reports to them while this one runs. */

import { createHmac, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { rolesOf } from '../config/roles.ts';
import { projectVersion } from '../config/root-folder.ts';
import {
  decideJoin,
  type JoinDecision,
  NOT_SET,
  type QueueMark,
  type SharedSettings,
} from '../core/operations/fleet.ts';
import { SECOND } from '../core/time.ts';
import { newestMigration } from '../db/engine/migrate.ts';
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { FleetStore, NewProcess } from '../db/fleet.ts';
import { placeOf } from '../ops/outages.ts';
import { fleetStore, fleetTimes } from '../service/fleet.ts';
import type { Service } from '../service/service.ts';

type FleetParts = Pick<Service, 'config' | 'database' | 'backend' | 'secrets' | 'log' | 'metrics'>;

/**
 * Resolves when the process can start: at once, or when conflicting processes are known to be gone.
 * Rejects with the reason if it must not start. The returned function stops the reports and removes
 * the process from the list.
 */
export async function joinFleet(service: FleetParts): Promise<() => Promise<void>> {
  const { config, log } = service;
  const times = fleetTimes(config);
  const store = fleetStore(service);
  const self = await describeProcess(service);
  const member = createMember({ ...service, store, self, goneMs: times.goneMs });
  // Embedded storage belongs to one process.
  await store.register(self, config.storage.kind === 'embedded');
  await untilJoined(member, log);
  return keepReporting(member, times.beatMs, log);
}

type Member = {
  /** Reports the result, too. */
  attempt(): Promise<JoinDecision>;
  /** Reports that it runs. */
  beat(): Promise<void>;
  leave(): Promise<void>;
};

type MemberParts = FleetParts & {
  readonly store: FleetStore;
  readonly self: NewProcess;
  readonly goneMs: number;
};

function createMember(service: MemberParts): Member {
  const { config, backend, secrets, log, metrics, store, self, goneMs } = service;
  const hasQueue = self.settings.REDIS_URL !== undefined;
  const installation = installationOf(secrets.target);
  const readMark = (isNew: boolean): Promise<QueueMark> =>
    hasQueue ? backend.readMark(installation, 2 * goneMs, isNew) : Promise.resolve('ours');
  // A process with only the worker role waits for its queue. The others start, and check it later.
  const needsQueue = rolesOf(config).every((role) => role === 'worker');
  let isQueueKnown = false;
  let lastProblem: string | null = null;

  async function decide(): Promise<JoinDecision> {
    const { now, processes, accepted } = await store.load();
    const registered = processes.find(({ id }) => id === self.id);
    if (registered === undefined) return { kind: 'wait', reason: 'processes' };
    const others = processes.filter(({ id }) => id !== self.id);
    let queue = await readMark(false);
    const decision = decideJoin({ self: registered, others, accepted, queue, now, goneMs });
    if (decision.kind !== 'join') return decision;
    if (queue === 'missing' || queue === 'idle') queue = await readMark(true);
    isQueueKnown = queue === 'ours';
    return isQueueKnown || !needsQueue ? decision : { kind: 'wait', reason: 'queue' };
  }

  async function checkQueue(): Promise<string | null> {
    const decision = await decide();
    return decision.kind === 'refuse' ? decision.problem : null;
  }

  return {
    async attempt() {
      const decision = await decide();
      if (decision.kind === 'refuse') await store.refuse(self, decision.problem);
      else {
        const isJoined = decision.kind === 'join';
        if (isJoined) {
          await store.forgetRefused(self);
          await store.endAcceptance(self.id, goneMs);
        }
        const isQueueSeen = isJoined && hasQueue && isQueueKnown;
        await store.report(self, {
          ...{ isJoined, isQueueSeen },
          ...{ resolversFailing: false, problem: null },
        });
      }
      return decision;
    },
    async beat() {
      const mark = isQueueKnown ? await readMark(true) : null;
      const problem = mark === null || mark === 'foreign' ? await checkQueue() : null;
      if (problem !== null && lastProblem === null) {
        log.error({ problem }, 'the configuration differs from other processes');
      }
      lastProblem = problem;
      const isQueueSeen = hasQueue && mark === 'ours';
      const resolversFailing = metrics?.areResolversFailing() ?? false;
      await store.report(self, { isJoined: true, isQueueSeen, resolversFailing, problem });
    },
    leave: () => store.leave(self.id),
  };
}

async function untilJoined(member: Member, log: Service['log']): Promise<void> {
  let isNoted = false;
  for (;;) {
    const decision = await member.attempt().catch((fault: unknown): JoinDecision => {
      if (isUnavailable(fault)) return { kind: 'wait', reason: 'queue' };
      throw fault;
    });
    if (decision.kind === 'join') return;
    if (decision.kind === 'refuse') throw new Error(`${decision.problem} ${decision.advice}`);
    if (!isNoted && decision.reason === 'processes') {
      isNoted = true;
      log.info('waiting for a report of the processes that started earlier');
    }
    await wait(SECOND / 2);
  }
}

function keepReporting(member: Member, beatMs: number, log: Service['log']): () => Promise<void> {
  /** One at a time: a silent database must not leave a backlog. */
  let reporting: Promise<void> | null = null;
  const beat = () =>
    member
      .beat()
      .catch((err: unknown) => log.debug({ err }, 'the fleet was not reached'))
      .finally(() => {
        reporting = null;
      });
  const timer = setInterval(() => {
    reporting ??= beat();
  }, beatMs).unref();
  return async () => {
    clearInterval(timer);
    await reporting;
    await member.leave().catch((err: unknown) => log.debug({ err }, 'the fleet was not reached'));
  };
}

async function describeProcess({ config, secrets }: FleetParts): Promise<NewProcess> {
  return {
    id: randomUUID(),
    role: config.role,
    host: hostname(),
    pid: process.pid,
    version: projectVersion(),
    settings: settingsOf(config, secrets.target, await newestMigration()),
  };
}

function settingsOf(config: Config, targetSecret: Uint8Array, schema: string): SharedSettings {
  const { acme, certificates, edge, platform, storage } = config;
  const isOwn = certificates.source === 'own';
  return {
    ...(config.role !== 'edge' && {
      REDIS_URL: storage.kind === 'postgres_redis' ? redisPlace(storage) : NOT_SET,
    }),
    ACME_DIRECTORY_URL: isOwn ? (acme.directoryUrl ?? 'local') : NOT_SET,
    ACME_FALLBACK_DIRECTORY_URL: acme.fallback?.directoryUrl ?? NOT_SET,
    CERTIFICATES: certificates.source,
    EDGE: edge.caddy === undefined ? 'own' : 'caddy',
    PLATFORM_DOMAIN: platform.domain,
    KEY_ENCRYPTION_KEY: `targets ${installationOf(targetSecret)}`,
    SCHEMA: schema,
  };
}

/** Without credentials: `cache:6379/0`. */
function redisPlace(storage: Extract<Config['storage'], { kind: 'postgres_redis' }>): string {
  const index = new URL(storage.redisUrl).pathname.slice(1) || '0';
  return `${placeOf('queue', storage).host}/${index}`;
}

/** The same in every process; reveals nothing about the secret. */
function installationOf(targetSecret: Uint8Array): string {
  return createHmac('sha256', targetSecret)
    .update('signpost installation')
    .digest('hex')
    .slice(0, 16);
}
