import { describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { IssueWork } from '../../src/db/certificates.ts';
import type { CheckSave } from '../../src/db/checks.ts';
import type { NewEscalation } from '../../src/db/escalations.ts';
import {
  type EscalateCertificateDeps,
  escalateCertificate,
} from '../../workers/escalate-certificate.ts';
import { aDomain, anObservation, missing, noon, right, unknown } from '../support/builders.ts';

const verified = aDomain({ state: { status: 'verified', verifiedAt: noon } });
const job = { domainId: verified.id, epoch: 1 };

function world(look: Diagnosis, parts: Partial<IssueWork> = {}, isOpen = false) {
  const opened: NewEscalation[] = [];
  const saves: CheckSave[] = [];
  const attempts: string[] = [];
  const deps: EscalateCertificateDeps = {
    loadWork: async () => ({
      domain: verified,
      order: null,
      usable: null,
      refusals: 0,
      lastProblem: null,
      recentRefusals: [],
      ...parts,
    }),
    observe: async () => anObservation(),
    diagnose: async () => look,
    save: async (check) => {
      saves.push(check);
      return { kind: 'saved', epoch: 2 };
    },
    enqueueFollowUps: async () => undefined,
    openEscalation: async (_domain, escalation) => {
      if (!isOpen) opened.push(escalation);
      return !isOpen;
    },
    attemptNow: async ({ domainId }) => void attempts.push(domainId),
    rules: (now) => ({ now, windowMs: 1_000, escalateAfterMs: 1, jitter: 0.5, eager: false }),
    now: () => noon,
  };
  return { deps, opened, saves, attempts };
}

const disagreeing: Diagnosis = {
  verdict: 'wrong',
  provider: null,
  findings: [
    {
      code: 'name_servers_disagree',
      hostname: 'docs.shop.test',
      target: 'x.edge.test',
      right: ['ns1.shop.test'],
      others: [{ server: 'ns2.shop.test', shows: 'no record' }],
    },
  ],
};
const problem = (type: string) => ({ refusals: 1, lastProblem: { type, detail: '' } });

describe('30 minutes after verification without a certificate', () => {
  const causes: readonly (readonly [string, Diagnosis, Partial<IssueWork>])[] = [
    ['authority_unreachable', right, {}],
    ['authority_refused', right, problem('unauthorized')],
    ['authority_rate_limited', right, problem('rate_limited')],
    ['dns_unknown', unknown, problem('dns')],
    ['dns_unsettled', disagreeing, {}],
    [
      'caa_unknown',
      {
        verdict: 'unknown',
        provider: null,
        findings: [
          {
            code: 'caa_unknown',
            hostname: 'docs.shop.test',
            name: 'shop.test',
            outcome: 'servfail',
          },
        ],
      },
      {},
    ],
  ];
  it.each(causes)(
    'an operator is told %s, and a new attempt runs at once',
    async (cause, look, work) => {
      const { deps, opened, attempts } = world(look, work);
      expect(await escalateCertificate(deps, job)).toEqual({ kind: 'done' });
      expect(opened).toMatchObject([{ cause, nextAction: expect.stringMatching(/\.$/) }]);
      expect(attempts).toEqual([verified.id]);
    },
  );

  it('one case is opened, however often the job runs', async () => {
    const { deps, opened, attempts } = world(right, {}, true);
    await escalateCertificate(deps, job);
    expect(opened).toEqual([]);
    expect(attempts).toEqual([verified.id]);
  });

  it('a DNS that has changed is the customer’s finding and no case', async () => {
    const { deps, opened, saves } = world(missing);
    await escalateCertificate(deps, job);
    expect(opened).toEqual([]);
    expect(saves[0]?.outcome.to.status).toBe('pending');
  });

  it('a domain that is live by now needs nobody', async () => {
    const live = aDomain({ state: { status: 'live', missedAt: null } });
    const { deps, opened, attempts } = world(right, { domain: live });
    await escalateCertificate(deps, job);
    expect([opened, attempts]).toEqual([[], []]);
  });
});
