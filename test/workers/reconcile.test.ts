import { describe, expect, it } from 'vitest';
import type { WaitingDomain } from '../../src/db/waiting.ts';
import type { QueueName } from '../../src/queue/names.ts';
import { type ReconcileDeps, reconcile } from '../../workers/reconcile.ts';
import { later, noon } from '../support/builders.ts';

const EVERY_MS = 20_000;
const pending = (id: string): WaitingDomain => ({
  id,
  epoch: 1,
  status: 'pending',
  nextCheckAt: later(noon, 60_000),
  escalateAt: null,
});
const verified = (id: string): WaitingDomain => ({
  ...pending(id),
  status: 'verified',
  escalateAt: later(noon, 90_000),
});

type Situation = {
  readonly domains: readonly WaitingDomain[];
  readonly overdue?: readonly WaitingDomain[];
  readonly alive?: Partial<Record<QueueName, number>>;
  readonly turn?: boolean;
};

function world({ domains, overdue = [], alive = {}, turn = true }: Situation) {
  const ensured: string[] = [];
  const deps: ReconcileDeps = {
    waiting: {
      count: async () => ({
        pending: domains.filter(({ status }) => status === 'pending').length,
        verified: domains.filter(({ status }) => status === 'verified').length,
        toEscalate: domains.filter(({ escalateAt }) => escalateAt !== null).length,
      }),
      overdue: async () => overdue,
      page: async (after) => domains.filter(({ id }) => after === null || id > after).slice(0, 2),
      takeTurn: async () => turn,
    },
    jobsAlive: async (name) => alive[name] ?? 0,
    ensure: async (name, jobs) => {
      ensured.push(...jobs.map(({ job }) => `${name} ${job.domainId}`));
      return jobs.length;
    },
    now: () => noon,
  };
  return { deps, ensured };
}

describe('the reconciler', () => {
  it('leaves a queue alone that holds a job for each domain that waits', async () => {
    const { deps, ensured } = world({
      domains: [pending('a'), verified('b')],
      alive: { 'check-dns': 1, 'issue-certificate': 1, 'escalate-certificate': 1 },
    });
    expect(await reconcile(deps, EVERY_MS)).toEqual({ repaired: 0, walked: false });
    expect(ensured).toEqual([]);
  });

  it('gives every waiting domain its jobs again when the queue has been emptied', async () => {
    const { deps, ensured } = world({ domains: [pending('a'), pending('b'), verified('c')] });
    expect(await reconcile(deps, EVERY_MS)).toEqual({ repaired: 4, walked: true });
    expect(ensured).toEqual([
      'check-dns a',
      'check-dns b',
      'issue-certificate c',
      'escalate-certificate c',
    ]);
  });

  it('gives an overdue domain its job again', async () => {
    const domains = [pending('a')];
    const { deps, ensured } = world({ domains, overdue: domains, alive: { 'check-dns': 1 } });
    expect(await reconcile(deps, EVERY_MS)).toEqual({ repaired: 1, walked: false });
    expect(ensured).toEqual(['check-dns a']);
  });

  it('does nothing when it is another process’s turn', async () => {
    const { deps, ensured } = world({ domains: [pending('a')], turn: false });
    expect(await reconcile(deps, EVERY_MS)).toBeNull();
    expect(ensured).toEqual([]);
  });
});
