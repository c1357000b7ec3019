/** Which CA gets a domain's order, depending on earlier orders. */

import { describe, expect, it } from 'vitest';
import type { OrderProblem, OrderResult } from '../../src/certificates/authorities/authority.ts';
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts';
import type { AuthorityRefusal, IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { Service } from '../../src/service/service.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { chooseFor, type OrderChoice } from '../../workers/orders/choose-authority.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { aDomain, aRefusal, later, noon } from '../support/builders.ts';
import { plainService } from '../support/plain-service.ts';
import { aCertificate, orderWorld } from './order-world.ts';

const first = 'https://first.example/dir';
const second = 'https://second.example/dir';
const gone = 'https://gone.example/dir';
const verified = aDomain({ state: { status: 'verified', verifiedAt: later(noon, -HOUR) } });
const job = { domainId: verified.id, epoch: 1 };

const authorities = [{ directoryUrl: first }, { directoryUrl: second }];
const service = plainService({ authorities });

/** With one CA, or all, in this health. */
function withHealth(health: Partial<Service['health']>): Service {
  return plainService({ authorities, health: { ...service.health, ...health } });
}
const work = {
  order: null,
  setback: null,
  recentRefusals: [],
  left: [],
  budgetWaits: [],
  forbidden: [],
};

function refusals(...parts: readonly Partial<AuthorityRefusal>[]) {
  return { ...work, recentRefusals: parts.map((one) => aRefusal({ authority: first, ...one })) };
}

/** An open order without progress from `sinceMs` to `atMs` ago. */
function setBack(authority: string | null, sinceMs: number, retryAfter: Date | null = null) {
  const times = { at: later(noon, -MINUTE), since: later(noon, -MINUTE - sinceMs) };
  const setback = { ...times, answered: false, detail: 'no answer', retryAfter };
  return { ...work, order: aCertificate({ authority }), setback };
}

/** The same with a responding CA. */
function slow(authority: string | null, sinceMs: number) {
  const known = setBack(authority, sinceMs);
  return { ...known, setback: { ...known.setback, answered: true } };
}

/** After an order was moved away from the first CA two hours ago. */
function leftFirst(known: Known): Known {
  return { ...known, left: [{ authority: first, at: later(noon, -2 * HOUR) }] };
}

const spent = { limit: 'orders', subject: '', until: later(noon, HOUR) } as const;

type Known = Parameters<typeof chooseFor>[1];
const table: readonly (readonly [string, Known, OrderChoice['authority']])[] = [
  ['there is no history', work, first],
  ['CAA forbids the first', { ...work, forbidden: [0] }, second],
  ['the first refused a challenge', refusals({ type: 'connection' }), first],
  ['the first sent Retry-After', refusals({ retryAfter: later(noon, DAY) }), second],
  ['the first sent Retry-After of a minute', refusals({ retryAfter: later(noon, MINUTE) }), first],
  ['the first rejected the name', refusals({ type: 'rejected_identifier' }), second],
  ['the first did in another epoch', refusals({ type: 'caa', isOfThisEpoch: false }), first],
  ['the first did before its latest response', refusals({ type: 'dns' }, { type: 'caa' }), first],
  ['both rejected the name', refusals({ type: 'caa', authority: second }, { type: 'caa' }), first],
  ['the first’s budget is exhausted', { ...work, budgetWaits: [spent, null] }, second],
  ['both budgets are exhausted', { ...work, budgetWaits: [spent, spent] }, first],
  ['an order is open at the first', setBack(first, 0), first],
  ['an earlier order is open', setBack(null, MINUTE), first],
  ['an open order made no progress for 4 minutes', setBack(first, 4 * MINUTE), first],
  ['an open order made no progress for 5 minutes', setBack(first, 5 * MINUTE), second],
  ['an open order waits for Retry-After', setBack(first, 0, later(noon, HOUR)), second],
  ['an open order has been slow for an hour', slow(first, HOUR), first],
  ['an open order is slow at the second', slow(second, HOUR), second],
  ['an order was moved, and the second is down', leftFirst(setBack(second, HOUR)), second],
  [
    'an order was moved, and the second refused it',
    leftFirst(refusals({ authority: second })),
    second,
  ],
  ['the first has refused since', leftFirst(refusals({ at: later(noon, -1) })), first],
  ['an order is open at the second', setBack(second, 0), second],
  [
    'an order is open at the second, which CAA forbids',
    { ...setBack(second, 0), forbidden: [1] },
    first,
  ],
  ['an order is open at a CA that is no longer configured', setBack(gone, 0), first],
];

describe('the order goes to the right CA when', () => {
  it.each(table)('%s', (_what, known, authority) => {
    expect(chooseFor(service, known).authority).toBe(authority);
  });

  it('every order at the first finds it down', () => {
    const isDown = withHealth({ downForMs: (one) => (one === first ? 5 * MINUTE : 0) });
    expect(chooseFor(isDown, work).authority).toBe(second);
    expect(chooseFor(isDown, setBack(first, 0)).authority).toBe(second);
  });

  it('the first has responded since its order was moved', () => {
    const known = leftFirst(setBack(second, HOUR));
    const answeredLast = (at: Date) =>
      withHealth({ answeredAt: (one) => (one === first ? at : null) });
    expect(chooseFor(answeredLast(later(noon, -3 * HOUR)), known).authority).toBe(second);
    expect(chooseFor(answeredLast(later(noon, -MINUTE)), known).authority).toBe(first);
  });

  it('an open order is slow and others find its CA down', () => {
    const isDown = withHealth({ downForMs: () => HOUR });
    expect(chooseFor(isDown, slow(first, 0)).authority).toBe(first);
  });

  it('each has its own plan', () => {
    const known = refusals({ authority: second, type: 'caa' }, {}, {}, { isOfThisEpoch: false });
    expect(chooseFor(service, known)).toMatchObject({ authority: first, refusals: 2 });
  });
});

function run(result: OrderResult | Unavailable, given: Partial<IssueWork> = {}) {
  const world = orderWorld(verified, { work: given, result });
  const [one] = world.service.authorities;
  const both = authorities.map((other) => ({ ...one, ...other }));
  Object.assign(world.service, { authorities: both });
  const opened: unknown[] = [];
  const { openOrder } = world.certificates;
  world.certificates.openOrder = async (domain, order, at) => {
    opened.push([order.authority, order.instead]);
    const certificate = await openOrder(domain, order, at);
    return certificate && { ...certificate, authority: order.authority ?? null };
  };
  return { ...world, opened, result: issueCertificate(world.service, job) };
}

const refused = (type: OrderProblem['type'], retryAfter: Date | null = null) =>
  ({ kind: 'refused', problem: { type, detail: 'no', retryAfter } }) as const;
const away = (retryAfter: Date | null) =>
  ({ kind: 'unavailable', retryAfter, detail: 'ca_failed' }) as const;

describe('the next attempt after', () => {
  const next: readonly (readonly [string, OrderResult | Unavailable, waitMs: number])[] = [
    [
      'a Retry-After of a day from the first: at once',
      refused('rate_limited', later(noon, DAY)),
      0,
    ],
    ['a limit without a time: by plan', refused('rate_limited'), MINUTE],
    ['CAA records that only the first rejects: at once', refused('caa'), 0],
    ['a name that the first rejects: at once', refused('rejected_identifier'), 0],
    ['a challenge that was not seen: by plan', refused('connection'), MINUTE],
    ['a first timeout: once it has lasted', away(null), 5 * MINUTE],
    ['timeouts for a day: at once', away(later(noon, DAY)), 0],
  ];
  it.each(next)('%s', async (_what, result, waitMs) => {
    expect(await run(result).result).toMatchObject({ kind: 'again', at: later(noon, waitMs) });
  });

  it('a refusal by both: by the plan of the first', async () => {
    const recentRefusals = [aRefusal({ authority: first, type: 'caa', at: later(noon, -1_000) })];
    const { result, opened } = run(refused('caa'), { recentRefusals });
    // Both have refused, so the plan of the first continues.
    expect(await result).toMatchObject({ kind: 'again', at: later(noon, MINUTE - 1_000) });
    expect(opened).toEqual([[second, null]]);
  });
});

describe('an open order', () => {
  it('continues at its CA', async () => {
    const { opened, result, did } = run(refused('connection'), {
      order: aCertificate({ authority: first }),
    });
    await result;
    expect(opened).toEqual([]);
    expect(did[0]).toBe('advance the open order');
  });

  it('of a CA that is down ends in favor of a new one at the other', async () => {
    const { order, setback } = setBack(first, HOUR);
    const { opened, result } = run(refused('connection'), { order, setback });
    await result;
    expect(opened).toEqual([[second, order.id]]);
  });
});
