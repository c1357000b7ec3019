/** Every status × leading finding × certificate × deploy: the parts never contradict each other. */
import { describe, expect, it } from 'vitest';
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { summaryOf } from '../../../src/core/life/summary/summary.ts';
import type {
  DeployHealth,
  Summary,
  SummaryInput,
} from '../../../src/core/life/summary/summary-types.ts';
import { later, noon } from '../../support/builders.ts';
import { samples } from '../support/sample-findings.ts';
import { live, none, pending, refused, valid } from './support.ts';

const statuses = ['pending', 'verified', 'live', 'drifted', 'failed', 'removed'] as const;
const leading = [null, ...(Object.keys(samples) as FindingCode[])];
const certificates = { none, valid, refused, expired: { ...none, hasExpired: true } } as const;
const deploys: readonly DeployHealth[] = ['unknown', 'healthy', 'down'];
const missedTimes = [null, later(noon, -60_000)];

type Case = { readonly input: SummaryInput; readonly summary: Summary; readonly what: string };

/** Every pair of an earlier part and one of `more`. */
function crossed<A extends object, B extends object>(
  all: readonly A[],
  more: readonly B[],
): readonly (A & B)[] {
  return all.flatMap((one) => more.map((other) => ({ ...one, ...other })));
}

function everyCase(): readonly Case[] {
  const byStatus = statuses.map((status) => ({ status }));
  const byFinding = crossed(
    byStatus,
    leading.map((code) => ({ code })),
  );
  const byCertificate = crossed(
    byFinding,
    Object.entries(certificates).map(([name, certificate]) => ({ name, certificate })),
  );
  const byDeploy = crossed(
    byCertificate,
    deploys.map((deploy) => ({ deploy })),
  );
  const all = crossed(
    byDeploy,
    missedTimes.map((missedAt) => ({ missedAt })),
  );
  return all.map(({ code, name, ...rest }) => {
    const findings = code === null ? [] : [samples[code]];
    const input = { ...(rest.status === 'live' ? live : pending), ...rest, findings };
    const what = [rest.status, code, name, rest.deploy, rest.missedAt !== null].join(', ');
    return { input, summary: summaryOf(input, noon), what };
  });
}

const cases = everyCase();
const worst = ['idle', 'ok', 'wait', 'warn', 'bad'] as const;

/** Null: it depends on the finding. */
function badgeOf({ status, deploy, certificate }: SummaryInput): Summary['badge'] | null {
  const isBad = deploy === 'down' || certificate.hasExpired;
  if (status === 'live') return isBad ? 'Needs attention' : null;
  return fixed[status];
}

const fixed = {
  removed: 'Removed',
  failed: 'Failed',
  drifted: 'Needs attention',
  verified: null,
  pending: null,
} as const;

describe(`each of ${cases.length} combinations`, () => {
  const holds = (isRight: (one: Case) => boolean) =>
    expect(cases.filter((one) => !isRight(one)).map(({ what }) => what)).toEqual([]);

  it('is green only if every step is', () => {
    holds(
      ({ summary }) => summary.tone !== 'ok' || summary.path.every(({ tone }) => tone === 'ok'),
    );
  });

  it('is live and green only without a blocking or suspected problem', () => {
    holds(({ summary, input }) => summary.tone !== 'ok' || input.missedAt === null);
  });

  it('has no step that is worse than its tone', () => {
    holds(({ summary }) => {
      if (summary.badge === 'Removed' || summary.tone === 'wait') return true;
      // The deploy is the whole project’s, and before it is live no visitor notices.
      const own = summary.path.filter(({ step }) => step !== 'deploy');
      const steps = own.map(({ tone }) => worst.indexOf(tone));
      return Math.max(...steps) <= Math.max(worst.indexOf(summary.tone), worst.indexOf('wait'));
    });
  });

  it('asks someone to act exactly if its badge says so', () => {
    holds(({ summary }) => summary.badge !== 'Action needed' || summary.actor !== 'platform');
    holds(({ summary }) => summary.badge !== 'Live' || summary.actor !== 'customer');
    holds(({ summary }) => summary.badge !== 'Waiting for DNS' || summary.actor !== 'customer');
  });

  it('says “Nothing to do” only if the customer and the provider have nothing to do', () => {
    holds(
      ({ summary }) =>
        !summary.headline.includes('Nothing to do') ||
        summary.actor === null ||
        summary.actor === 'platform',
    );
  });

  it('has the badge of its status, from the gravest to live', () => {
    holds(({ input, summary: { badge } }) => {
      const expected = badgeOf(input);
      return expected === null ? badge !== 'Failed' && badge !== 'Removed' : badge === expected;
    });
  });

  it('shows the deploy only if it was measured', () => {
    holds(
      ({ input, summary }) =>
        summary.path.some(({ step }) => step === 'deploy') === (input.deploy !== 'unknown'),
    );
  });

  it('has sentences', () => {
    holds(({ summary: { headline, text, brief, now } }) =>
      [
        /^\p{Lu}.+[^.]$|[.!?]$/u.test(headline) || headline.endsWith('removed'),
        text !== '',
        brief !== '',
        /[.!?…]$/.test(now),
      ].every(Boolean),
    );
  });
});
