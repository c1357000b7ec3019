/** Faults planted on purpose, to prove that the histories detect them. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import type { Tx } from '../../src/db/engine/transaction.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import type { Service } from '../../src/service/service.ts';
import { storages } from '../support/storage.ts';
import { checkHistories } from './check.ts';
import { HOUR } from './entry.ts';
import type { SystemOptions } from './system.ts';

/** They take longer on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

type Save = (check: CheckSave) => Promise<MoveResult>;

/** Replaces a save by another one, which receives the real one. */
const saving = (other: (service: Service, save: Save) => Save) => (service: Service) => {
  const { save } = service.checks;
  Object.assign(service.checks, { save: other(service, save) });
};

/** `seed`: one of the first histories detects it; other seeds may need hundreds. */
type Planted<How extends 'sabotage' | 'sabotageTransactions'> = readonly [
  fault: string,
  seed: number,
  plant: NonNullable<SystemOptions[How]>,
  noticed: RegExp,
];

const plants: readonly Planted<'sabotage'>[] = [
  [
    'a transition has two events',
    1,
    saving((service, save) => async (check) => {
      const saved = await save(check);
      if (saved.kind === 'saved' && check.change.kind === 'moved')
        await recordAgain(service, check);
      return saved;
    }),
    /has the events/,
  ],
  [
    'a save ignores the epoch',
    1,
    saving((service, save) => async (check) => {
      const domain = await service.checks.load(check.domain.id);
      const { epoch, version } = domain ?? check.domain;
      return save({ ...check, domain: { ...check.domain, epoch, version } });
    }),
    /is \{|has the events|has findings/,
  ],
  [
    'an apex is taken without a proof',
    1,
    saving((_parts, save) => async (check) => {
      const saved = await save(check);
      return saved.kind === 'unproven' ? save({ ...check, provenAgainst: saved.rivals }) : saved;
    }),
    // Without it two projects take the name from each other at every check.
    /is \{|has the events|never ends/,
  ],
  [
    'a second miss is ignored',
    12,
    saving((_parts, save) => async (check) => {
      const { domain, change } = check;
      const isSecond = domain.state.status === 'live' && change.to.status === 'drifted';
      return isSecond ? { kind: 'saved', epoch: domain.epoch } : save(check);
    }),
    /"status":"live".*"status":"drifted"/,
  ],
  [
    'an order waits for a limit that its name has not reached',
    1,
    ({ certificates, now }) => {
      const limit = { limit: 'failed_authorizations', subject: '' } as const;
      const until = new Date(now().getTime() + HOUR);
      Object.assign(certificates, { openOrder: async () => ({ ...limit, until }) });
    },
    /waits for no limit/,
  ],
  [
    'the reconciler does nothing',
    5,
    (service) => void Object.assign(service.waiting, { takeTurn: async () => false }),
    /overdue|has no job/,
  ],
  [
    'a removal leaves the order open',
    7,
    (service) => {
      const { remove } = service.domains;
      Object.assign(service.domains, {
        remove: async (...[access, name, how]: Parameters<typeof remove>) => {
          const { projectId, hostname } = name;
          const open = { status: 'ordering', hostname, domain: { projectId } } as const;
          const { certificate } = service.database.prisma;
          const order = await certificate.findFirst({ where: open });
          const removed = await remove(access, name, how);
          if (order !== null) {
            await certificate.update({ where: { id: order.id }, data: { status: 'ordering' } });
          }
          return removed;
        },
      });
    },
    /"openOrders":1.*"openOrders":0/,
  ],
  [
    'a certificate is issued and not stored',
    1,
    (service) => void Object.assign(service.certificates, { store: async () => true }),
    /"openOrders":1.*"openOrders":0/,
  ],
  [
    'a renewal has an event but serves nothing',
    11,
    (service) => {
      const { store } = service.certificates;
      Object.assign(service.certificates, {
        store: async (...[domain, id, ...rest]: Parameters<typeof store>) => {
          const stored = await store(domain, id, ...rest);
          if (domain.state.status !== 'live') return stored;
          const { certificate } = service.database.prisma;
          await certificate.update({ where: { id }, data: { status: 'failed' } });
          return stored;
        },
      });
    },
    /"certificateUntil"/,
  ],
  [
    'a refused order stays open',
    8,
    (service) =>
      void Object.assign(service.certificates, {
        refuse: async () => ({ hasEnded: true, isPlanned: true }),
      }),
    /"openOrders":1.*"openOrders":0/,
  ],
  [
    'the certificate of a verified domain is not awaited',
    1,
    ({ queues }) => {
      const { enqueue, ensure } = queues;
      Object.assign(queues, {
        enqueue: async (...asked: Parameters<typeof enqueue>) =>
          asked[0] === 'escalate-certificate' ? undefined : enqueue(...asked),
        ensure: async (...asked: Parameters<typeof ensure>) =>
          asked[0] === 'escalate-certificate' ? { added: 0, woken: 0 } : ensure(...asked),
      });
    },
    /has no job in escalate-certificate/,
  ],
  [
    'no renewal is made',
    20_261_121,
    ({ due }) => void Object.assign(due['renew-certificate'], { take: async () => [] }),
    /the renewal of .* is overdue/,
  ],
];

const inTransactions: readonly Planted<'sabotageTransactions'>[] = [
  [
    'an escalation is opened again at every check',
    7,
    changed('findFirst', (tx) => async (asked: { where: Prisma.EscalationWhereInput }) => {
      const data = { closedAt: new Date(0) };
      await tx.escalation.updateMany({ where: asked.where, data });
      return null;
    }),
    /has the events .*escalation/,
  ],
  [
    'an escalation is not stored',
    6,
    changed('create', () => async () => undefined),
    /"escalations"|has the events .*escalation/,
  ],
];

/** Replaces how a transaction reads or writes escalations. */
function changed(what: 'create' | 'findFirst', other: (tx: Tx) => (asked: never) => unknown) {
  const inside = <T extends object>(target: T, own: object): T =>
    new Proxy(target, {
      get: (_, key) => Reflect.get(key in own ? own : target, key),
    });
  return (tx: Tx): Tx => inside(tx, { escalation: inside(tx.escalation, { [what]: other(tx) }) });
}

async function recordAgain(
  { database }: Service,
  { domain, change, at }: CheckSave,
): Promise<void> {
  const type = change.events.at(-1)?.type;
  const repeated = JSON.stringify([{ domain_id: domain.id, type, data: {}, at }]);
  await database.prisma.$executeRaw`SELECT record_events(${repeated}::jsonb)`;
}

const available = storages.find(({ name }) => name === 'postgres')?.available ?? false;

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.restoreAllMocks());

const many = {
  storage: 'postgres',
  runs: 300,
  systems: 1,
  shrinks: false,
} as const;

describe.skipIf(!available)('a planted fault is detected', () => {
  it.each(plants)(
    'when %s',
    async (_fault, seed, sabotage, noticed) => {
      const { failure } = await checkHistories({ ...many, seed, sabotage });
      expect(failure).toMatch(noticed);
    },
    180_000,
  );

  it.each(inTransactions)(
    'when %s',
    async (_fault, seed, sabotageTransactions, noticed) => {
      const { failure } = await checkHistories({ ...many, seed, sabotageTransactions });
      expect(failure).toMatch(noticed);
    },
    180_000,
  );
});
