/**
 * A domain on its first day, for the OpenAPI document. Times are the JSON text of times; test/http/openapi/document.test.ts
 * holds every example to its schema.
 */
import { docsProject } from './projects.ts';

const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';

/** The finding of a missing record, with the hint that it was created as docs.example.com.example.com. */
const recordMissing = {
  code: 'record_missing',
  severity: 'blocks',
  actor: 'customer',
  summary: 'docs.example.com does not exist in the DNS yet.',
  expected: `CNAME docs → ${target}, TTL 3600`,
  found: 'No record of any type has the name docs.example.com (NXDOMAIN).',
  action: `Create: CNAME docs → ${target}, TTL 3600. Most providers add the domain automatically: enter only “docs” as the name.`,
  hints: [
    {
      code: 'doubled_name',
      text: 'The record exists as docs.example.com.example.com: your provider adds the domain by itself. Change its name to “docs”.',
    },
  ],
};

/** A pending domain after its first check. */
export const docsDomain = {
  hostname: 'docs.example.com',
  unicodeHostname: 'docs.example.com',
  projectId: docsProject.id,
  status: 'pending',
  summary: {
    line: 'docs.example.com does not exist in the DNS yet. The next check is on 2026-11-20 at 12:00:16 UTC.',
    now: 'docs.example.com does not exist in the DNS yet.',
    next: 'The next check is',
    nextAt: '2026-11-20T12:00:16.250Z',
    actor: 'customer',
  },
  record: { type: 'CNAME', name: 'docs', value: target, ttl: 3_600 },
  zone: 'example.com',
  provider: {
    name: 'Porkbun',
    apex: 'ALIAS',
    where: 'At Porkbun: Domain Management → the domain → DNS.',
  },
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
        'There is no certificate yet: it is ordered as soon as the DNS is right. Until then a browser shows an error, or what the DNS leads to instead.',
      shown: null,
    },
  },
  escalation: null,
  createdAt: '2026-11-20T12:00:00.000Z',
};

/** Its first two events, the newest first. */
export const docsEvents = [
  {
    id: 2,
    type: 'domain.findings_changed',
    hostname: 'docs.example.com',
    at: '2026-11-20T12:00:01.250Z',
    data: { appeared: [recordMissing], cleared: [] },
  },
  {
    id: 1,
    type: 'domain.added',
    hostname: 'docs.example.com',
    at: '2026-11-20T12:00:00.000Z',
    data: { record: { type: 'CNAME', name: 'docs', value: target, ttl: 3_600 } },
  },
];

/** How its host name is read before it is added. */
export const docsReading = {
  hostname: 'docs.example.com',
  unicodeHostname: 'docs.example.com',
  zone: 'example.com',
  record: { type: 'CNAME', name: 'docs' },
};
