/** A service around an order job, with its actions recorded in order. */

import type { OrderResult } from '../../src/certificates/authorities/authority.ts';
import type { ExternalAuthority } from '../../src/certificates/authorities/external.ts';
import { generatePrivateKey, sealKey, sealOf } from '../../src/certificates/vault/keys.ts';
import type { BudgetWait } from '../../src/core/certificates/budget.ts';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { Certificate } from '../../src/core/records.ts';
import { DAY } from '../../src/core/time.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { aDomain, later, noon } from '../support/builders.ts';
import {
  namesOf,
  orThrow,
  plainService,
  type ServiceMembers,
  testVault,
} from '../support/plain-service.ts';
import { type SeenAs, seenAs } from '../support/seen-as.ts';

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
  const id = '00000000-0000-4000-8000-0000000000c1';
  return {
    id,
    domainId,
    hostname,
    status: 'ordering',
    sealedKey: sealKey(testVault, generatePrivateKey(), sealOf(id)),
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
  readonly seen?: SeenAs;
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
export function orderWorld(domain: LoadedDomain, situation: Situation, more: ServiceMembers = {}) {
  const { work = {}, seen = 'right', result = issued, probes = [] } = situation;
  const did: string[] = [];
  const probed: string[] = [];
  const saves: CheckSave[] = [];
  const shownAfter: string[] = [];
  const loaded: IssueWork = { ...nothingYet(domain), ...work };
  const { certificates, planned } = storeOf(loaded, did, situation);
  const advance = () => {
    const isNew = did.includes('open order');
    did.push(`advance ${isNew ? 'the new order' : 'the open order'}`);
  };
  const authority = {
    name: 'Test CA',
    advance: async () => {
      advance();
      return orThrow(result);
    },
  };
  const external = {
    check: async () => {
      advance();
      return result as Awaited<ReturnType<ExternalAuthority['check']>>; // as the test gives it
    },
  };
  // Only an external edge has its own key.
  const isExternal = loaded.order?.sealedKey === null;
  const service = plainService({
    certificates,
    authorities: [{ directoryUrl: null, issuerDomains: ['ca.test'], authority }],
    ...(isExternal && { external }),
    observer: { observe: async () => seenAs(seen, domain) },
    checks: {
      save: async (check) => {
        saves.push(check);
        return { kind: 'saved', epoch: 2 };
      },
    },
    queues: {
      enqueue: async (queue, wanted) => void did.push(...namesOf(queue, wanted)),
      remove: async (queue) => {
        if (queue === 'escalate-certificate') did.push('forget the escalation');
      },
    },
    handshakes: {
      probe: async (hostname) => {
        probed.push(hostname);
        return probes;
      },
      recordServed: async () => void shownAfter.push(did.join(', ')),
    },
    ...more,
  });
  return { service, certificates, did, saves, planned, probed, shownAfter };
}

/** `planned`: the times after a refusal or postponement. */
function storeOf(work: IssueWork, did: string[], { limited, lost = false }: Situation) {
  const planned: Date[] = [];
  const certificates: CertificateStore = {
    loadWork: async () => work,
    openOrder: async (_domain, { id, sealedKey }) => {
      if (limited !== undefined) return limited;
      did.push('open order');
      return aCertificate({ id, sealedKey: sealedKey && Uint8Array.from(sealedKey) });
    },
    noteWaiting: async () => undefined,
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
