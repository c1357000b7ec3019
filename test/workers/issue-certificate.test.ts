import { describe, expect, it } from 'vitest';
import type { OrderResult } from '../../src/certificates/authority.ts';
import type { Diagnosis } from '../../src/core/diagnosis/diagnosis.ts';
import type { CertificateStore, IssueWork } from '../../src/db/certificates.ts';
import type { CheckSave } from '../../src/db/checks.ts';
import type { Certificate } from '../../src/db/generated/client.ts';
import {
  type IssueCertificateDeps,
  issueCertificate,
  type Unavailable,
} from '../../workers/issue-certificate.ts';
import {
  aDomain,
  anObservation,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const verified = aDomain({ state: { status: 'verified', verifiedAt: noon } });
const job = { domainId: verified.id, epoch: 1 };

const issued: OrderResult = {
  kind: 'issued',
  chain: 'PEM',
  issuer: 'Test CA',
  notBefore: noon,
  notAfter: later(noon, 90 * DAY),
};
const refused: OrderResult = {
  kind: 'refused',
  problem: { type: 'unauthorized', detail: 'no', retryAfter: null },
};

function aCertificate(parts: Partial<Certificate> = {}): Certificate {
  return {
    id: '00000000-0000-4000-8000-0000000000c1',
    domainId: verified.id,
    hostname: verified.hostname,
    status: 'ordering',
    sealedKey: new Uint8Array(),
    orderUrl: null,
    chain: null,
    issuer: null,
    issuedAt: null,
    expiresAt: null,
    problem: null,
    createdAt: noon,
    ...parts,
  };
}

type Situation = {
  readonly work?: Partial<IssueWork>;
  readonly look?: Diagnosis;
  readonly result?: OrderResult | Unavailable;
};

/** Everything that the job did to the world, in order. */
function world({ work = {}, look = right, result = issued }: Situation) {
  const did: string[] = [];
  const saves: CheckSave[] = [];
  const refusals: Date[] = [];
  const loaded: IssueWork = {
    domain: verified,
    order: null,
    usable: null,
    refusals: 0,
    lastProblem: null,
    recentRefusals: [],
    ...work,
  };
  const certificates: CertificateStore = {
    loadWork: async () => loaded,
    openOrder: async (_domain, { id }) => {
      did.push('open order');
      return aCertificate({ id });
    },
    orderPlaced: async () => undefined,
    publishChallenge: async () => undefined,
    store: async () => void did.push('store'),
    reuse: async () => void did.push('reuse'),
    refuse: async (_domain, _id, { nextAttemptAt }) => {
      did.push('refuse');
      refusals.push(nextAttemptAt);
    },
    postpone: async () => void did.push('postpone'),
  };
  const deps: IssueCertificateDeps = {
    certificates,
    observe: async () => anObservation(),
    diagnose: async () => look,
    save: async (check) => {
      saves.push(check);
      return { kind: 'saved', epoch: 2 };
    },
    enqueueFollowUps: async ({ epoch }) => void did.push(`follow up epoch ${epoch}`),
    forgetEscalation: async () => void did.push('forget the escalation'),
    newKey: async () => ({ id: 'new', sealedKey: new Uint8Array() }),
    advance: async ({ id }) => {
      did.push(`advance ${id === 'new' ? 'the new order' : 'the open order'}`);
      return result;
    },
    rules: (now) => ({ now, windowMs: 2 * DAY, escalateAfterMs: 1, jitter: 0.5, eager: false }),
    now: () => noon,
  };
  return { deps, did, saves, refusals };
}

describe('the certificate of a verified domain', () => {
  it('is ordered and stored', async () => {
    const { deps, did } = world({});
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual(['open order', 'advance the new order', 'store', 'forget the escalation']);
  });

  it('comes from the order that is open, if one is', async () => {
    const { deps, did } = world({ work: { order: aCertificate() } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is the one it had before, while more than a third of its life is left', async () => {
    const usable = aCertificate({ issuedAt: noon, expiresAt: later(noon, 90 * DAY) });
    const { deps, did } = world({ work: { usable } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['reuse', 'forget the escalation']);
  });

  it('is ordered anew where the one before is about to end', async () => {
    const usable = aCertificate({
      issuedAt: later(noon, -60 * DAY),
      expiresAt: later(noon, 30 * DAY),
    });
    const { deps, did } = world({ work: { usable } });
    await issueCertificate(deps, job);
    expect(did).toContain('store');
  });

  const plan: readonly (readonly [number, number])[] = [
    [0, MINUTE],
    [1, 10 * MINUTE],
    [2, 89 * MINUTE],
    [3, DAY],
    [9, DAY],
  ];
  it.each(plan)(
    'after %d earlier refusals is tried again %d ms after the next',
    async (refusals, wait) => {
      const { deps, refusals: planned } = world({ work: { refusals }, result: refused });
      expect(await issueCertificate(deps, job)).toMatchObject({
        kind: 'again',
        at: later(noon, wait),
        note: 'refused: unauthorized',
      });
      expect(planned).toEqual([later(noon, wait)]);
    },
  );

  it('is not ordered before the time that the authority asked us to wait for', async () => {
    const retryAfter = later(noon, 3 * DAY);
    const problem = { type: 'rate_limited', detail: 'too many', retryAfter } as const;
    const { deps } = world({ result: { kind: 'refused', problem } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
  });

  it('leaves the order open where the authority cannot be reached, and takes it up again', async () => {
    const { deps, did } = world({ result: { kind: 'unavailable', retryAfter: null } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, 15_000) });
    expect(did).toEqual(['open order', 'advance the new order', 'postpone']);
  });

  it('waits as long as an authority that is busy asks for', async () => {
    const retryAfter = later(noon, 60 * MINUTE);
    const { deps } = world({ result: { kind: 'unavailable', retryAfter } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
  });

  it('is ordered at most four times an hour, however often verify is pressed', async () => {
    const ago = (minutes: number) => ({ at: later(noon, -minutes * MINUTE), retryAfter: null });
    const recentRefusals = [ago(1), ago(2), ago(3), ago(20), ago(50)];
    const { deps, did } = world({ work: { recentRefusals } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, 40 * MINUTE) });
    expect(did).toEqual(['postpone']);
  });

  it('is not ordered while the authority has asked to wait, even in a new life', async () => {
    const retryAfter = later(noon, 3 * DAY);
    const recentRefusals = [{ at: later(noon, -MINUTE), retryAfter }];
    const { deps, did } = world({ work: { recentRefusals } });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: retryAfter });
    expect(did).toEqual(['postpone']);
  });

  it('but an order that is open already goes on', async () => {
    const recentRefusals = [{ at: noon, retryAfter: later(noon, DAY) }];
    const { deps, did } = world({ work: { recentRefusals, order: aCertificate() } });
    await issueCertificate(deps, job);
    expect(did).toEqual(['advance the open order', 'store', 'forget the escalation']);
  });

  it('is not ordered for a domain that was removed meanwhile', async () => {
    const { deps, did } = world({});
    deps.certificates.openOrder = async () => null;
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });

  it('is not ordered where the DNS has changed: the domain waits for its DNS again', async () => {
    const { deps, did, saves } = world({ look: missing });
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(saves[0]?.outcome).toMatchObject({ kind: 'moved', to: { status: 'pending' } });
    expect(did).toEqual(['follow up epoch 2']);
  });

  it('waits a minute where nobody could tell whether the DNS is right', async () => {
    const { deps, did, saves } = world({ look: unknown });
    expect(await issueCertificate(deps, job)).toMatchObject({ at: later(noon, MINUTE) });
    expect(did).toEqual([]);
    expect(saves[0]?.outcome).toMatchObject({
      kind: 'stayed',
      findings: unknown.findings,
      nextCheckAt: later(noon, MINUTE),
    });
  });
});

describe('a job that comes too late', () => {
  const late: readonly (readonly [string, Partial<IssueWork>])[] = [
    ['of an earlier life', { domain: { ...verified, epoch: 2 } }],
    [
      'of a domain that is live',
      { domain: aDomain({ state: { status: 'live', missedAt: null } }) },
    ],
    ['of a domain that waits for its DNS again', { domain: aDomain() }],
  ];
  it.each(late)('%s orders nothing', async (_title, work) => {
    const { deps, did } = world({ work });
    expect(await issueCertificate(deps, job)).toEqual({ kind: 'done' });
    expect(did).toEqual([]);
  });
});
