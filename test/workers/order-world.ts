/** The dependencies of an order job as plain values, with its actions recorded in order. */
import type { OrderResult } from '../../src/certificates/authorities/authority.ts';
import type { BudgetWait } from '../../src/core/certificates/budget.ts';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { DiagnosisForAny } from '../../src/core/diagnosis/diagnosis.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { IssueCertificateDeps, Unavailable } from '../../workers/issue-certificate.ts';
import { aDomain, anObservation, later, noon, right } from '../support/builders.ts';

const DAY = 86_400_000;

export const issued: OrderResult = {
  kind: 'issued',
  chain: 'PEM',
  issuer: 'Test CA',
  notBefore: noon,
  notAfter: later(noon, 90 * DAY),
};
export const refused: OrderResult = {
  kind: 'refused',
  problem: { type: 'unauthorized', detail: 'no', retryAfter: null },
};

export function aCertificate(parts: Partial<Certificate> = {}): Certificate {
  const { id: domainId, hostname } = aDomain();
  return {
    id: '00000000-0000-4000-8000-0000000000c1',
    domainId,
    hostname,
    status: 'ordering',
    sealedKey: new Uint8Array(),
    authority: null,
    orderUrl: null,
    renewalInfo: null,
    chain: null,
    issuer: null,
    issuedAt: null,
    expiresAt: null,
    problem: null,
    setback: null,
    buckets: [],
    endedAt: null,
    createdAt: noon,
    ...parts,
  };
}

export type Situation = {
  readonly work?: Partial<IssueWork>;
  readonly diagnosis?: DiagnosisForAny;
  readonly result?: OrderResult | Unavailable;
  readonly probes?: readonly Probe[];
  /** The limit that opening the order hits. */
  readonly limited?: BudgetWait;
  /** Another run, maybe of another epoch, was faster. */
  readonly lost?: boolean;
};

/** A domain without orders, certificates and history. */
export const nothingYet = (domain: LoadedDomain): IssueWork => ({
  domain,
  order: null,
  usable: null,
  refusals: 0,
  lastProblem: null,
  recentRefusals: [],
  left: [],
  budgetWaits: [],
  setback: null,
  renewAt: null,
});

/** The defaults: no order and no certificate yet, the DNS is right, and the CA issues. */
export function orderWorld(domain: LoadedDomain, situation: Situation) {
  const { work = {}, diagnosis = right, result = issued } = situation;
  const did: string[] = [];
  const probed: string[] = [];
  const saves: CheckSave[] = [];
  const shownAfter: string[] = [];
  const loaded: IssueWork = { ...nothingYet(domain), ...work };
  const { certificates, planned } = storeOf(loaded, did, situation);
  const deps: IssueCertificateDeps = {
    certificates,
    observe: async () => anObservation(),
    diagnose: async () => diagnosis,
    save: async (check) => {
      saves.push(check);
      return { kind: 'saved', epoch: 2 };
    },
    resolveClaim: () => Promise.reject(new Error('unexpected claim')),
    enqueueFollowUps: async ({ epoch }) => void did.push(`follow up epoch ${epoch}`),
    recordServedCertificate: async () => void shownAfter.push(did.join(', ')),
    forgetEscalation: async () => void did.push('forget the escalation'),
    newKey: async () => ({ id: 'new', sealedKey: new Uint8Array() }),
    probe: async (hostname) => {
      probed.push(hostname);
      return situation.probes ?? [];
    },
    authorities: [null],
    downForMs: () => 0,
    answeredAt: () => null,
    ask: async () => undefined,
    advance: async ({ id }) => {
      did.push(`advance ${id === 'new' ? 'the new order' : 'the open order'}`);
      return result;
    },
    rules: (now) => ({ now, windowMs: 2 * DAY, timeScale: 1, escalateAfterMs: 1, jitter: 0.5 }),
    now: () => noon,
  };
  return { deps, did, saves, planned, probed, shownAfter };
}

/** `planned`: the times after a refusal or postponement. */
function storeOf(work: IssueWork, did: string[], { limited, lost = false }: Situation) {
  const planned: Date[] = [];
  const certificates: CertificateStore = {
    loadWork: async () => work,
    openOrder: async (_domain, { id }) => {
      if (limited !== undefined) return limited;
      did.push('open order');
      return aCertificate({ id });
    },
    beforePlacing: async () => null,
    orderPlaced: async () => undefined,
    publishChallenge: async () => undefined,
    store: async () => {
      did.push('store');
      return !lost;
    },
    reuse: async () => void did.push('reuse'),
    refuse: async (_domain, _id, { nextAttemptAt }) => {
      did.push('refuse');
      planned.push(nextAttemptAt);
      return { hasEnded: !lost, isPlanned: !lost };
    },
    postpone: async (_domain, at) => {
      did.push('postpone');
      planned.push(at);
      return !lost;
    },
    setBack: async (_id, { detail }) => void did.push(`set back: ${detail}`),
  };
  return { certificates, planned };
}
