/** An installation with one open escalation, for the OpenAPI document. */
import { docsDomain, docsEvents } from './domain-examples.ts';

const id = '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90';
const { projectId, hostname } = docsDomain;
const listed = { id, hostname, projectId } as const;
const noJobs = {
  waiting: 0,
  delayed: 0,
  active: 0,
  failed: 0,
  prioritized: 0,
  isPaused: false,
} as const;

/** The example of an OperationsOverview. */
export const overviewExample = {
  at: '2026-11-20T12:30:05.000Z',
  attention: [
    {
      code: 'escalations_open',
      urgency: 'act',
      summary: '1 domain gets no certificate, or no next one.',
      action:
        'Each shows its cause and what happens next automatically; act where the cause is ours.',
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
  setAside: { total: 0, newest: [] },
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
  authorityBudget: null,
} as const;

/** One entry of a search. */
export const foundExample = {
  id,
  hostname,
  unicodeHostname: hostname,
  project: { id: projectId, name: 'Documentation' },
  status: docsDomain.status,
  removedAt: null,
} as const;

/** The same domain with its job. */
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
      setAside: null,
    },
  ],
  timeline: docsEvents,
} as const;
