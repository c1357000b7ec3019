import { describe, expect, it } from 'vitest';
import type { WebhookResponse } from '../../src/core/operations/webhook-plan.ts';
import { DAY } from '../../src/core/time.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../../src/db/delivery/deliveries.ts';
import { createKeyedCount, type KeyedCount } from '../../src/net/keyed-count.ts';
import type { Service } from '../../src/service/service.ts';
import { mintSecret } from '../../src/webhooks/message.ts';
import { deliveriesInFlight, deliverWebhook } from '../../workers/deliver-webhook.ts';
import { later, noon } from '../support/builders.ts';
import { plainService, testVault } from '../support/plain-service.ts';

const ok: WebhookResponse = { kind: 'answered', status: 204, retryAfter: null };
const down: WebhookResponse = { kind: 'unanswered', problem: 'connection_failed' };

function aDelivery(
  parts: Partial<LoadedDelivery> = {},
  webhook: Partial<LoadedDelivery['webhook']> = {},
): LoadedDelivery {
  return {
    id: 'd1',
    status: 'pending',
    attempts: 0,
    lastAttemptAt: null,
    nextAttemptAt: noon,
    queuedAt: noon,
    webhook: {
      id: 'w1',
      projectId: 'p1',
      url: 'https://hooks.shop.test/',
      sealedSecret: mintSecret(testVault, 'w1').sealed,
      sealedOldSecret: null,
      oldSecretEndsAt: null,
      disabledAt: null,
      deletedAt: null,
      failingSince: null,
      project: { accountId: 'a1' },
      ...webhook,
    },
    event: {
      number: 1n,
      type: 'domain.live',
      data: {},
      at: noon,
      messageId: 'm1',
      projectId: 'p1',
      domain: { hostname: 'docs.shop.test' },
      domainId: '00000000-0000-0000-0000-00000000000d',
      metadata: { value: { site: 'handbook' } },
      projectMetadata: null,
      metadataCopy: {},
      projectMetadataCopy: {},
    },
    ...parts,
  };
}

type Situation = {
  readonly send?: Service['send'];
  /** Another run has saved first. */
  readonly isLate?: true;
  readonly isCrowded?: true;
  readonly slots?: KeyedCount;
};

function world(
  delivery: LoadedDelivery | null,
  { send, isLate, isCrowded, slots }: Situation = {},
) {
  const saved: DeliveryOutcome[] = [];
  const calls: string[] = [];
  const service = plainService({
    deliveries: {
      load: async () => delivery,
      putBack: async (_, until) => void calls.push(`back until ${until.toISOString()}`),
      save: async (_, outcome) => {
        saved.push(outcome);
        return isLate !== true;
      },
    },
    deliverySlots: slots ?? {
      admit: (key) => {
        if (isCrowded) return 'key';
        calls.push(`in ${key}`);
        return () => void calls.push(`out ${key}`);
      },
    },
    send: async (outgoing: Parameters<Service['send']>[0]) => {
      calls.push('send');
      return send === undefined ? ok : send(outgoing);
    },
  });
  return { run: () => deliverWebhook(service, { deliveryId: 'd1' }), saved, calls };
}

const slots = ['host hooks.shop.test of a1', 'project p1', 'account a1'];
const taken = slots.map((slot) => `in ${slot}`);
const released = slots.toReversed().map((slot) => `out ${slot}`);

describe('a webhook delivery', () => {
  it('that succeeds is done', async () => {
    const { run, saved, calls } = world(aDelivery());
    expect(await run()).toEqual({ kind: 'done' });
    expect(saved).toEqual([{ kind: 'delivered', httpStatus: 204 }]);
    expect(calls).toEqual([...taken, 'send', ...released]);
  });

  it('that fails waits in its table for the next attempt, without a job', async () => {
    const { run, saved } = world(aDelivery({ attempts: 1 }), { send: async () => down });
    const at = later(noon, 300_000);
    expect(await run()).toEqual({ kind: 'done' });
    expect(saved).toMatchObject([{ kind: 'again', at, problem: 'connection_failed' }]);
  });

  it('whose last attempt fails is over, and disables its webhook after five days', async () => {
    const failing = aDelivery({ attempts: 7 }, { failingSince: later(noon, -5 * DAY) });
    const { run, saved } = world(failing, {
      send: async () => ({ kind: 'answered', status: 500, retryAfter: null }),
    });
    expect(await run()).toEqual({ kind: 'over', reason: 'not_accepted (500)' });
    expect(saved).toMatchObject([{ kind: 'failed', disables: 'failing' }]);
  });

  const nothing: readonly (readonly [string, LoadedDelivery | null])[] = [
    ['no longer exists', null],
    ['was delivered already', aDelivery({ status: 'delivered' })],
    ['has failed already', aDelivery({ status: 'failed' })],
  ];
  it.each(nothing)('that %s is not sent', async (_, delivery) => {
    const { run, saved, calls } = world(delivery);
    expect(await run()).toEqual({ kind: 'done' });
    expect([saved, calls]).toEqual([[], []]);
  });

  it.each([
    ['webhook_deleted', { deletedAt: noon, disabledAt: noon }],
    ['webhook_disabled', { disabledAt: noon }],
  ] as const)('ends as %s with its webhook, without an attempt', async (problem, webhook) => {
    const { run, saved, calls } = world(aDelivery({}, webhook));
    expect(await run()).toEqual({ kind: 'over', reason: problem });
    expect(saved).toEqual([{ kind: 'ended', problem }]);
    expect(calls).toEqual([]);
  });

  it('that is not due yet is skipped by an old job', async () => {
    const { run, calls } = world(aDelivery({ queuedAt: null, nextAttemptAt: later(noon, 1) }));
    expect(await run()).toEqual({ kind: 'done' });
    expect(calls).toEqual([]);
  });

  it('to a receiver at its limit is returned at once, without an attempt', async () => {
    const { run, saved, calls } = world(aDelivery(), { isCrowded: true });
    expect(await run()).toEqual({ kind: 'done' });
    expect(saved).toEqual([]);
    expect(calls).toEqual([`back until ${later(noon, 1_250).toISOString()}`]);
  });

  it('that another run has saved first stays unchanged', async () => {
    const { run } = world(aDelivery(), { isLate: true });
    expect(await run()).toEqual({ kind: 'done' });
  });

  it.each([
    ['account a1', deliveriesInFlight.account],
    ['host hooks.shop.test of a1', deliveriesInFlight.host],
  ])('waits while %s has all its slots, and those of other accounts do not', async (name, most) => {
    const slots = createKeyedCount({ total: Infinity, perKey: Infinity });
    const leave = Array.from({ length: most }, () => slots.admit(name));
    const crowded = world(aDelivery(), { slots });
    await crowded.run();
    expect([crowded.calls, crowded.saved]).toEqual([[expect.stringMatching('^back until')], []]);
    const other = { projectId: 'p2', project: { accountId: 'a2' } };
    const elsewhere = world(aDelivery({}, other), { slots });
    await elsewhere.run();
    expect(elsewhere.saved).toMatchObject([{ kind: 'delivered' }]);
    const [first] = leave;
    if (typeof first === 'function') first();
    const next = world(aDelivery(), { slots });
    await next.run();
    expect(next.saved).toMatchObject([{ kind: 'delivered' }]);
  });

  it('releases its slot after an internal error, which is thrown', async () => {
    const fault = new Error('the vault does not open');
    const { run, saved, calls } = world(aDelivery(), { send: () => Promise.reject(fault) });
    await expect(run()).rejects.toBe(fault);
    expect(saved).toEqual([]);
    expect(calls).toEqual([...taken, 'send', ...released]);
  });
});
