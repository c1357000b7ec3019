/** Valid default values, so that a test shows only what matters to it. */

import type { DiagnosisForAny } from '../../src/core/diagnosis/diagnosis.ts';
import type { Observation, ServerView } from '../../src/core/diagnosis/observation.ts';
import type { CheckResult, DomainChange } from '../../src/core/life/check.ts';
import { decide } from '../../src/core/life/decide.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import type { AuthorityRefusal } from '../../src/db/issuance/issue-work.ts';

export const noon = new Date('2026-11-20T12:00:00.000Z');

export function later(from: Date, ms: number): Date {
  return new Date(from.getTime() + ms);
}

export function aDomain(parts: Partial<LoadedDomain> = {}): LoadedDomain {
  return {
    id: '00000000-0000-4000-8000-000000000001',
    projectId: '00000000-0000-4000-8000-00000000000a',
    hostname: 'docs.shop.test',
    target: 'x.edge.test',
    epoch: 1,
    version: 0,
    attempts: 0,
    state: { status: 'pending', pendingSince: noon },
    findings: [],
    observation: null,
    lastCheckedAt: null,
    nextCheckAt: noon,
    recheckAt: null,
    escalateAt: null,
    certificateEndsAt: null,
    watchedUntil: null,
    ...parts,
  };
}

/** A change that leaves a domain as it was. */
export function aChange(parts: Partial<DomainChange> = {}): DomainChange {
  return {
    kind: 'stayed',
    to: { status: 'pending', pendingSince: noon },
    epoch: 'same',
    attempts: 'counted',
    findings: [],
    events: [],
    nextCheckAt: noon,
    recheckAt: null,
    escalateAt: null,
    served: null,
    closes: null,
    isRemoved: false,
    ...parts,
  };
}

/** Of an order at the first CA in this epoch. */
export function aRefusal(parts: Partial<AuthorityRefusal> = {}): AuthorityRefusal {
  return {
    at: noon,
    retryAfter: null,
    authority: null,
    type: 'unauthorized',
    isOfThisEpoch: true,
    ...parts,
  };
}

export function anObservation(view: Partial<ServerView> = {}): Observation {
  const server: ServerView = {
    server: 'ns1.shop.test',
    address: '192.0.2.53',
    state: 'answers',
    aa: true,
    rcode: 0,
    mx: null,
    txt: null,
    soa: null,
    rttMs: 1,
    cname: { kind: 'records', records: ['x.edge.test'], ttlSeconds: 3600 },
    a: { kind: 'nodata' },
    aaaa: { kind: 'nodata' },
    ...view,
  };
  return {
    hostname: 'docs.shop.test',
    at: noon.toISOString(),
    view: 'authoritative',
    whyRecursive: null,
    delegation: null,
    servers: [server],
    world: [],
    nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    caa: [],
    targetAddresses: [],
    cost: { questions: 1, bytes: 100, ms: 1 },
  };
}

export const right: DiagnosisForAny = {
  verdict: 'right',
  findings: [],
  provider: null,
  forbidden: [],
};
export const missing: DiagnosisForAny = {
  verdict: 'wrong',
  provider: null,
  forbidden: [],
  findings: [
    { code: 'record_missing', hostname: 'docs.shop.test', target: 'x.edge.test', seen: 'nxdomain' },
  ],
};
export const unknown: DiagnosisForAny = {
  verdict: 'unknown',
  provider: null,
  forbidden: [],
  findings: [
    {
      code: 'dns_unknown',
      hostname: 'docs.shop.test',
      servers: [{ server: 'ns1.shop.test', outcome: 'timeout' }],
    },
  ],
};

/** The default rules without jitter. */
function checkRules(now: Date) {
  const HOUR = 3_600_000;
  return { now, windowMs: 48 * HOUR, timeScale: 1, escalateAfterMs: HOUR / 2, jitter: 0.5 };
}

/** What a worker saves. With the domain's own observation, a light check was enough. */
export function aCheckSave(
  domain: LoadedDomain,
  result: CheckResult,
  at = noon,
  observation = anObservation(),
): CheckSave {
  const change = decide(domain, { kind: 'checked', ...result, ...checkRules(at) }, at);
  const kind = observation === domain.observation ? 'unchanged' : 'observed';
  return { domain, observed: { kind, observation }, change, at };
}
