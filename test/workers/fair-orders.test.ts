/** Two accounts at one CA with Let's Encrypt's limits: the real worker and database, a fake clock. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { CertificateAuthorities } from '../../src/certificates/authorities/authority.ts';
import { createAsk, createAuthorityHealth } from '../../src/certificates/authorities/health.ts';
import { wholeInstallation } from '../../src/core/access.ts';
import { MINUTE } from '../../src/core/time.ts';
import { createAccountStore } from '../../src/db/accounts.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import { createCertificateStore } from '../../src/db/issuance/certificates.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import { openStoredOrders, type StoredOrders } from '../db/stored-orders.ts';
import { later, noon } from '../support/builders.ts';
import { orderWorld } from './order-world.ts';

vi.setConfig({ testTimeout: 300_000 });

const directoryUrl = 'https://ca.test/dir';

let db: StoredOrders;
beforeAll(async () => {
  db = await openStoredOrders();
});
afterAll(() => db.close());

type Waiting = { readonly domain: LoadedDomain; readonly owner: 'big' | 'small'; at: Date };

/** Runs each job when it is due, in that order; the minutes at which certificates came. */
async function issueAll(jobs: readonly Waiting[]) {
  let at = noon;
  const now = () => at;
  const authorities: CertificateAuthorities = [
    {
      directoryUrl,
      issuerDomains: ['ca.test'],
      authority: {
        name: 'of the test',
        accountUri: async () => null,
        renewalInfo: async () => null,
        reach: async () => undefined,
        async advance({ orderUrl, hostname }, steps) {
          if (orderUrl === null) {
            await steps.beforePlacing('opened');
            await steps.orderPlaced(`https://ca.test/${hostname}`);
          }
          const life = { notBefore: at, notAfter: later(at, 90 * 24 * 60 * MINUTE) };
          return { kind: 'issued', chain: 'PEM', issuer: 'CA', ...life };
        },
      },
    },
  ];
  const certificates = createCertificateStore(db.database.prisma, { timeScale: 1 }, [
    { directoryUrl, budget: 'letsencrypt' },
  ]);
  const health = createAuthorityHealth({ now, timeScale: 1, onChange: () => undefined });
  const members = {
    authorities,
    certificates,
    health,
    now,
    askAuthority: createAsk(authorities, health),
  };
  const issued = { big: [] as number[], small: [] as number[] };
  const waiting = [...jobs];
  while (waiting.length > 0) {
    const next = waiting.reduce((one, other) => (other.at < one.at ? other : one));
    if (at < next.at) at = next.at;
    const { domain, owner } = next;
    const { service } = orderWorld(domain, {}, members);
    const result = await issueCertificate(service, { domainId: domain.id, epoch: domain.epoch });
    if (result.kind === 'again') {
      next.at = result.at;
      continue;
    }
    issued[owner].push((+at - +noon) / MINUTE);
    waiting.splice(waiting.indexOf(next), 1);
  }
  return issued;
}

it('A new account gets the next orders of the CA after another one took all of them', async () => {
  const accounts = createAccountStore(db.database.prisma);
  const { id: accountId } = await accounts.create(wholeInstallation, { name: 'Small' }, noon);
  const jobs: Waiting[] = [];
  for (let nth = 0; nth < 315; nth += 1) {
    jobs.push({ domain: await db.verified(`docs.big-${nth}.example`), owner: 'big', at: noon });
  }
  const cameAt = later(noon, 5 * MINUTE);
  for (let nth = 0; nth < 5; nth += 1) {
    const domain = await db.verified(`docs.small-${nth}.example`, accountId);
    jobs.push({ domain, owner: 'small', at: cameAt });
  }

  const { big, small } = await issueAll(jobs);

  // Alone, it takes all 300, and each one that is refilled: one in 36 s.
  expect(big.filter((minute) => minute < 0.6)).toHaveLength(300);
  const alone = big.filter((minute) => minute >= 0.6 && minute < 5).length;
  expect(alone).toBeGreaterThanOrEqual(7);
  // Five orders are refilled in three minutes; nobody else gets one in between.
  const servedAt = Math.max(...small);
  expect(servedAt).toBeLessThan(5 + 5);
  expect(big.filter((minute) => minute > 5.7 && minute < servedAt)).toEqual([]);
  expect(big).toHaveLength(315);
});
