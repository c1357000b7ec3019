/** OpenAPI examples. test/http/openapi/document.test.ts checks each against its schema. */
import { docsProject } from './projects.ts';

const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';

/** With the hint that it was created as docs.example.com.example.com. */
const recordMissing = {
  code: 'record_missing',
  severity: 'blocks',
  actor: 'customer',
  summary: 'docs.example.com does not exist in the DNS yet.',
  expected: `CNAME docs → ${target}, TTL 3600`,
  found: 'No record exists at docs.example.com (NXDOMAIN).',
  action: `Create: CNAME docs → ${target}, TTL 3600. Most providers add the domain automatically: enter only “docs” as the name.`,
  hints: [
    {
      code: 'doubled_name',
      text: 'The record exists as docs.example.com.example.com: your provider appends the domain. Change its name to “docs”.',
    },
  ],
};

export const docsDomain = {
  id: '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90',
  hostname: 'docs.example.com',
  unicodeHostname: 'docs.example.com',
  projectId: docsProject.id,
  status: 'pending',
  summary: {
    tone: 'warn',
    badge: 'Action needed',
    headline: 'Do this at Porkbun',
    text: 'docs.example.com does not exist in the DNS yet.',
    brief: 'Add 1 record at Porkbun',
    path: [
      { step: 'dns', tone: 'warn' },
      { step: 'certificate', tone: 'idle' },
    ],
    action: 'open_dns',
    actor: 'customer',
    line: 'Do this at Porkbun. docs.example.com does not exist in the DNS yet. The next check is on 2026-11-20 at 12:00:16 UTC.',
    now: 'Do this at Porkbun. docs.example.com does not exist in the DNS yet.',
    next: 'The next check is',
    nextAt: '2026-11-20T12:00:16.250Z',
  },
  record: { type: 'CNAME', name: 'docs', value: target, ttl: 3_600 },
  zone: 'example.com',
  provider: {
    name: 'Porkbun',
    apex: 'ALIAS',
    where: 'At Porkbun: Domain Management → the domain → DNS.',
    dnsUrl: null,
    siteUrl: 'https://porkbun.com/account/domainsSpeedy',
  },
  changes: [
    {
      verb: 'add',
      type: 'CNAME',
      name: 'docs',
      value: target,
      ttl: 3_600,
      state: 'to_do',
      servers: [{ name: 'curitiba.ns.porkbun.com', state: 'to_do', shows: 'no such name' }],
      note: 'The record exists as docs.example.com.example.com: your provider appends the domain. Change its name to “docs”.',
    },
  ],
  findings: [recordMissing],
  observation: {
    at: '2026-11-20T12:00:01.250Z',
    view: 'authoritative',
    servers: [
      {
        server: 'curitiba.ns.porkbun.com',
        address: '173.245.58.37',
        verdict: 'wrong',
        shows: 'no such name (NXDOMAIN)',
      },
    ],
  },
  checks: {
    attempts: 1,
    lastCheckedAt: '2026-11-20T12:00:01.250Z',
    nextCheckAt: '2026-11-20T12:00:16.250Z',
    windowEndsAt: '2026-11-22T12:00:00.000Z',
  },
  verifiedAt: null,
  certificate: {
    status: 'none',
    issuedAt: null,
    expiresAt: null,
    issuer: null,
    nextAttemptAt: null,
    problem: null,
    renewal: null,
    browser: {
      state: 'no_certificate_yet',
      summary:
        'There is no certificate yet: it is ordered as soon as the DNS is right. Until then a browser shows an error, or the site that the DNS points to.',
      shown: null,
    },
  },
  escalation: null,
  hsts: null,
  metadata: { site: 'handbook' },
  createdAt: '2026-11-20T12:00:00.000Z',
};

/** Newest first. */
export const docsEvents = [
  {
    id: 2,
    type: 'domain.findings_changed',
    hostname: 'docs.example.com',
    domainId: docsDomain.id,
    at: '2026-11-20T12:00:01.250Z',
    data: { appeared: [recordMissing], cleared: [] },
    metadata: docsDomain.metadata,
    projectMetadata: docsProject.metadata,
  },
  {
    id: 1,
    type: 'domain.added',
    hostname: 'docs.example.com',
    domainId: docsDomain.id,
    at: '2026-11-20T12:00:00.000Z',
    data: { record: { type: 'CNAME', name: 'docs', value: target, ttl: 3_600 } },
    metadata: docsDomain.metadata,
    projectMetadata: docsProject.metadata,
  },
];

export const docsReading = {
  hostname: 'docs.example.com',
  unicodeHostname: 'docs.example.com',
  zone: 'example.com',
  record: { type: 'CNAME', name: 'docs' },
};

const { id, projectId, hostname } = docsDomain;
const listed = { id, hostname, projectId } as const;
const noJobs = {
  waiting: 0,
  delayed: 0,
  active: 0,
  failed: 0,
  isPaused: false,
} as const;

export const overviewExample = {
  at: '2026-11-20T12:30:05.000Z',
  attention: [
    {
      code: 'escalations_open',
      urgency: 'act',
      summary: 'The certificate of 1 domain could not be issued or renewed.',
      action:
        'Each entry shows its cause and the next automatic step. Act on those that the platform caused.',
    },
  ],
  domains: { pending: 12, verified: 1, live: 804, drifted: 2, failed: 31 },
  waiting: [
    {
      ...listed,
      status: 'pending',
      since: '2026-11-20T12:00:00.000Z',
      nextCheckAt: '2026-11-20T12:31:00.000Z',
    },
  ],
  overdue: [{ queue: 'check-dns', seconds: 0 }],
  queues: [
    { queue: 'check-dns', ...noJobs, delayed: 12 },
    { queue: 'deliver-webhook', ...noJobs },
  ],
  escalations: [{ cause: 'challenge_unreachable', open: 1 }],
  quarantined: { total: 0, newest: [] },
  findings: [{ code: 'record_missing', severity: 'blocks', actor: 'customer', domains: 9 }],
  dnsOperators: [{ operator: 'ns.example', domains: 2, hostnames: ['a.example', 'b.example'] }],
  certificates: {
    byDaysLeft: [
      { within: 'ended', domains: 0 },
      { within: '1', domains: 0 },
      { within: '7', domains: 0 },
      { within: '30', domains: 214 },
      { within: 'more', domains: 592 },
    ],
    soonest: [{ ...listed, endsAt: '2026-12-12T08:00:00.000Z' }],
  },
  activity: {
    since: '2026-11-19T12:30:05.000Z',
    hours: [{ at: '2026-11-20T12:00:00.000Z', counts: [{ type: 'domain.live', count: 3 }] }],
  },
  repairs: [{ kind: 'missing_job', count: 4n, lastAt: '2026-11-02T03:04:05.000Z' }],
  turns: [{ name: 'reconcile', takenAt: '2026-11-20T12:29:40.000Z' }],
  authorityBudget: [],
} as const;

export const foundExample = {
  id,
  hostname,
  unicodeHostname: hostname,
  project: { id: projectId, name: 'Documentation' },
  status: docsDomain.status,
  removedAt: null,
} as const;

export const watchedExample = {
  id,
  project: foundExample.project,
  removedAt: null,
  domain: docsDomain,
  escalation: null,
  queueAnswers: true,
  work: [
    {
      queue: 'check-dns',
      isSweep: false,
      dueAt: docsDomain.checks.nextCheckAt,
      job: {
        state: 'delayed',
        attempts: docsDomain.checks.attempts,
        runAt: docsDomain.checks.nextCheckAt,
        failedReason: null,
        log: ['2026-11-20T12:00:16.000Z wrong: record_missing'],
      },
      quarantined: null,
    },
  ],
  timeline: docsEvents,
} as const;
