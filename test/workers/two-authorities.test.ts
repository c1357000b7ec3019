/**
 * Two CAs that are down or slow at different times: real worker functions and database, fake clock.
 * The certificate comes as soon as either can issue it, and no order is dropped early.
 */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type {
  CertificateAuthorities,
  CertificateAuthority,
} from '../../src/certificates/authorities/authority.ts';
import { createAsk, createAuthorityHealth } from '../../src/certificates/authorities/health.ts';
import { type CertificateFaultCode, certificateFault } from '../../src/certificates/fault.ts';
import { HOUR, MINUTE } from '../../src/core/time.ts';
import type { AuthorityBudgets } from '../../src/db/issuance/authority-budget.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { openStoredOrders, type StoredOrders } from '../db/stored-orders.ts';
import { later, noon } from '../support/builders.ts';
import { rowsOfRun } from '../support/run.ts';
import { orderWorld } from './order-world.ts';

/** They take longer on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

const urls = ['https://first.test/dir', 'https://second.test/dir'] as const;
const budgets: AuthorityBudgets = [
  { directoryUrl: urls[0], budget: 'letsencrypt' },
  { directoryUrl: urls[1], budget: 'letsencrypt' },
];
const endless = Number.POSITIVE_INFINITY;

/** In minutes since noon, or since the order was placed. */
type Behavior = {
  /** No response to any request. */
  readonly away?: readonly (readonly [from: number, to: number])[];
  /** A response to queries, and 500 to orders. */
  readonly failing?: readonly (readonly [from: number, to: number])[];
  readonly needs?: number;
};

function behaving({ away = [], failing = [], needs = 0 }: Behavior, now: () => Date) {
  const placed = new Map<string, number>();
  const isIn = (spans: readonly (readonly [number, number])[]) => {
    const minute = (+now() - +noon) / MINUTE;
    return spans.some(([from, to]) => from <= minute && minute < to);
  };
  const answer = (code: CertificateFaultCode) => {
    throw certificateFault(code, 'scripted failure');
  };
  const authority: CertificateAuthority = {
    name: 'one of two',
    accountUri: async () => null,
    renewalInfo: async () => null,
    reach: async () => void (isIn(away) && answer('ca_unreachable')),
    async advance({ orderUrl }, steps) {
      if (isIn(away)) answer('ca_unreachable');
      if (isIn(failing)) answer('ca_failed');
      const url = orderUrl ?? `https://ca.test/${randomUUID()}`;
      if (orderUrl === null) {
        await steps.beforePlacing('opened');
        await steps.orderPlaced(url);
        placed.set(url, +now());
      }
      if (+now() - (placed.get(url) ?? 0) < needs * MINUTE) answer('order_still_open');
      const life = { notBefore: now(), notAfter: later(now(), 90 * 24 * HOUR) };
      return { kind: 'issued', chain: 'PEM', issuer: 'CA', ...life };
    },
  };
  return authority;
}

describe('With two CAs', () => {
  let db: StoredOrders;
  let names = 0;
  beforeAll(async () => {
    db = await openStoredOrders();
  });
  afterAll(() => db.close());

  /** Runs the order's job whenever it is due, each time in another worker process. */
  async function live(
    [one, other]: readonly [Behavior, Behavior],
    { processes = 1, hours = 48 } = {},
  ) {
    await db.database.prisma.authorityBudget.deleteMany();
    names += 1;
    const domain = await db.verified(`two-${names}.example.com`);
    let at = noon;
    const now = () => at;
    const issuerDomains = ['ca.test'] as const;
    const authorities: CertificateAuthorities = [
      { directoryUrl: urls[0], issuerDomains, authority: behaving(one, now) },
      { directoryUrl: urls[1], issuerDomains, authority: behaving(other, now) },
    ];
    const { prisma } = db.database;
    const certificates = createCertificateStore(prisma, { timeScale: 1 }, budgets);
    const workers = Array.from({ length: processes }, () => {
      const onChange = () => undefined;
      const health = createAuthorityHealth({ now, timeScale: 1, onChange });
      const askAuthority = createAsk(authorities, health);
      const members = { authorities, certificates, health, now, askAuthority };
      return orderWorld(domain, {}, members).service;
    });
    let issuedAt: number | null = null;
    for (let turn = 0; +at - +noon <= hours * HOUR; turn += 1) {
      const worker = workers[turn % processes];
      if (worker === undefined) break;
      const result = await issueCertificate(worker, { domainId: domain.id, epoch: domain.epoch });
      if (result.kind !== 'again') {
        issuedAt = (+at - +noon) / MINUTE;
        break;
      }
      at = new Date(Math.max(+result.at, +at + 1));
    }
    const where = { domainId: domain.id };
    const rows = await prisma.certificate.findMany({ where, orderBy: { createdAt: 'asc' } });
    return {
      /** Minutes since noon; null: never. */
      issuedAt,
      orders: rows.map(({ authority }) => (authority === urls[0] ? 1 : 2)),
      /** In hours, how long until the name's weekly limit is full again. */
      async weekOf(nth: 0 | 1) {
        const key = `same_names ${urls[nth]} ${domain.hostname}`;
        const row = await prisma.authorityBudget.findUnique({ where: { key } });
        return row === null ? 0 : Math.max(0, +row.fullAt - +at) / HOUR;
      },
    };
  }

  type Row = readonly [string, readonly [Behavior, Behavior], readonly number[], latest: number];
  const always = [[0, endless]] as const;
  const table: readonly Row[] = [
    ['the first slow for 12 minutes: it keeps its order', [{ needs: 12 }, {}], [1], 17],
    ['both slow for an hour: the first keeps its order', [{ needs: 60 }, { needs: 60 }], [1], 65],
    [
      'the first down, the second slow for 12 minutes',
      [{ away: always }, { needs: 12 }],
      [1, 2],
      25,
    ],
    [
      'the first down, the second slow for 3 hours',
      [{ away: always }, { needs: 180 }],
      [1, 2],
      195,
    ],
    [
      'both down, and the first up after 3 hours',
      [{ away: [[0, 180]] }, { away: always }],
      [1, 2, 1],
      186,
    ],
    [
      'both down, and the second up after 3 hours',
      [{ away: always }, { away: [[0, 180]] }],
      [1, 2],
      186,
    ],
    [
      'one down after the other',
      [{ away: [[0, 90]] }, { away: [[8, endless]], needs: 20 }],
      [1, 2, 1],
      96,
    ],
    [
      'both slow, and the first down in between: the second starts again, once',
      [{ needs: 30, away: [[10, endless]] }, { needs: 30 }],
      [1, 2],
      60,
    ],
  ];

  for (const processes of rowsOfRun([1, 3], (count) => count === 3)) {
    it.each(table)(
      `an order is placed as planned by ${processes} worker(s): %s`,
      async (_what, both, orders, latest) => {
        const life = await live(both, { processes });
        expect(life.orders).toEqual(orders);
        expect(life.issuedAt).toBeLessThanOrEqual(latest);
      },
    );
  }

  it('that fail only orders for two days, moves become rarer', async () => {
    const failing = [[0, endless]] as const;
    const { issuedAt, orders } = await live([{ failing }, { failing }]);
    expect(issuedAt).toBeNull();
    expect(orders.length).toBeLessThanOrEqual(15);
    expect(orders.length).toBeGreaterThan(4);
  });

  it("moved orders do not use up the name's weekly certificates", async () => {
    const { weekOf, orders } = await live([{ away: [[0, 180]] }, { away: always }]);
    expect(orders).toEqual([1, 2, 1]);
    expect(await weekOf(0)).toBeGreaterThan(30);
    expect(await weekOf(0)).toBeLessThanOrEqual((7 * 24) / 5);
    expect(await weekOf(1)).toBe(0);
  });
});
