import { z } from 'zod';
import { domainQueues, type QueueName } from '../../core/operations/jobs.ts';
import type { OperatorTaskCode, Urgency } from '../../core/operations/operator-tasks.ts';
import { sweepNames } from '../../db/domains/sweeps.ts';
import { int64, queryInteger, text, time, uuid, wholeNumber } from '../pipeline/json.ts';
import { actor, component, explainedEnum, requestComponent, sentence } from './common.ts';
import { domain, domainStatus, escalationCause, findingCode, severity } from './domains.ts';
import { projectEscalation } from './escalations.ts';
import { event } from './events.ts';
import { projectId } from './projects.ts';

const count = () => wholeNumber({ min: 0, max: 2_147_483_647 });
const hostname = z.string().describe('DNS form: A-labels, lower case');
const domainId = uuid().describe('ID of the domain');
const listed = { id: domainId, hostname, projectId };

/** Built by src/core/operations/operator-tasks.ts. */
const attention = component('Attention', 'Problem that an operator needs to solve', {
  code: explainedEnum('OperatorTaskCode', 'Type of the problem', {
    queue_away: 'Redis does not answer',
    no_worker: 'No worker is running',
    process_cut_off: 'A process cannot reach Redis, although the API can',
    role_missing: 'No process of a role is running',
    process_refused: 'A process does not start, because its configuration differs',
    processes_differ: 'Processes run with older settings',
    queue_paused: 'A queue is paused, so none of its jobs run',
    resolvers_silent: 'Our own resolvers fail for many domains',
    work_overdue: 'Jobs run later than planned',
    certificates_ended: 'Domains are served with an expired certificate',
    escalations_open: 'Certificates could not be issued or renewed',
    jobs_quarantined: 'Jobs failed repeatedly and were quarantined',
    certificates_end_soon: 'Certificates expire within a day',
    certificates_unexpected: 'New certificates are from a CA that is not configured',
    redis_full: 'Redis has little memory left',
    connections_exhausted: 'PostgreSQL has few connections left',
    dns_operator_silent: 'The name servers of a DNS operator do not answer for many domains',
  } satisfies Readonly<Record<OperatorTaskCode, string>>),
  urgency: explainedEnum('Urgency', 'How soon an operator needs to act', {
    act: 'Customers are affected, or will be within a day',
    watch: 'It can resolve without action',
  } satisfies Readonly<Record<Urgency, string>>),
  summary: sentence('The problem'),
  action: sentence('How to fix it'),
});

const queueName = explainedEnum('QueueName', 'Name of a queue, and what one job in it is', {
  'check-dns': 'A pending domain, by the schedule of checks',
  'issue-certificate': 'A verified domain, by the plan for orders',
  'escalate-certificate': 'A verified domain that has no certificate after `ESCALATE_AFTER`',
  'recheck-live': 'The sweep of live, drifted and failed domains, one per installation',
  'renew-certificate':
    'The sweep of renewals, their escalations and renewal information, one per installation',
  'deliver-webhook': 'An event for a webhook, by the plan for retries',
} satisfies Readonly<Record<QueueName, string>>);

/** Retried at growing intervals until it succeeds. */
const quarantinedJob = z.object({
  queue: z.string().describe('Its queue, or the sweep that skips the domain'),
  domainId: z.nullable(domainId).describe('Null if the job is not about a domain'),
  hostname: z.nullable(hostname),
  reason: sentence('The last error'),
  times: count().describe('How often it was quarantined; each time lasts longer'),
  since: time(),
  until: time().describe('Time of the next retry'),
});

/** By this installation's own count (src/core/certificates/budget.ts). */
const budget = z
  .array(
    z.object({
      authority: sentence('Name of the certificate authority'),
      limit: sentence('The rate limit'),
      left: count(),
      of: count(),
      fullAt: time().describe('When the full limit is available again'),
    }),
  )
  .describe('Limits closest to exhaustion');

/** Every list has a maximum length. */
export const operationsOverview = component(
  'OperationsOverview',
  'Health of the installation, with problems and fixes',
  {
    at: time().describe('When this was read; at most a few seconds ago'),
    attention: z
      .array(attention)
      .describe('Problems to solve, most urgent first; empty if none are known'),
    domains: z
      .object({
        pending: count(),
        verified: count(),
        live: count(),
        drifted: count(),
        failed: count(),
      })
      .describe('Attached domains by status'),
    waiting: z
      .array(
        z.object({
          ...listed,
          status: domainStatus,
          since: time().describe('Since when the domain is waiting for its DNS or certificate'),
          nextCheckAt: z.nullable(time()),
        }),
      )
      .describe('The ten domains that have waited longest'),
    overdue: z
      .array(z.object({ queue: queueName, seconds: count() }))
      .describe('Delay of the most overdue job, in seconds; 0 if none is overdue'),
    queues: z
      .nullable(
        z.array(
          z.object({
            queue: queueName,
            waiting: count(),
            delayed: count(),
            active: count(),
            failed: count(),
            isPaused: z
              .boolean()
              .describe('Whether the queue is paused; its jobs run only after it is resumed'),
          }),
        ),
      )
      .describe('Jobs by state; null if Redis does not answer'),
    escalations: z.array(z.object({ cause: escalationCause, open: count() })),
    quarantined: z.object({
      total: count(),
      newest: z.array(quarantinedJob).describe('The newest, at most twenty'),
    }),
    findings: z
      .array(z.object({ code: findingCode, severity, actor, domains: count() }))
      .describe('Number of domains per finding, most frequent first'),
    dnsOperators: z
      .array(
        z.object({
          operator: sentence(
            'The registrable domain of the name servers; “our resolvers” if those failed',
          ),
          domains: count(),
          hostnames: z.array(hostname).describe('Three of the affected domains'),
        }),
      )
      .describe('DNS operators whose name servers last gave no usable answer'),
    certificates: z.object({
      byDaysLeft: z.array(
        z.object({
          within: explainedEnum('DaysLeft', 'Time until a certificate expires', {
            ended: 'It has expired',
            '1': 'Less than a day',
            '7': 'Less than seven days',
            '30': 'Less than thirty days',
            more: 'Thirty days or more',
          }),
          domains: count(),
        }),
      ),
      soonest: z
        .array(z.object({ ...listed, endsAt: time() }))
        .describe('The ten served domains whose certificates expire first'),
    }),
    activity: z
      .object({
        since: time().describe('Start of the counts'),
        hours: z.array(
          z.object({
            at: time().describe('Start of the hour'),
            counts: z.array(z.object({ type: z.string(), count: count() })),
          }),
        ),
      })
      .describe('Events of the last 24 hours; hours without events are omitted'),
    repairs: z
      .array(z.object({ kind: z.string(), count: int64(), lastAt: time() }))
      .describe('Repairs by the reconciler since installation'),
    turns: z
      .array(z.object({ name: z.string(), takenAt: time() }))
      .describe('Last run of each periodic task'),
    authorityBudget: budget.describe('Remaining capacity at the certificate authority'),
  },
);

export const domainSearch = z.strictObject({
  hostname: text({ max: 253 }).meta({
    description: 'The host name or part of it, in any script',
    example: 'docs.example',
  }),
  limit: queryInteger({ min: 1, max: 100, default: 20 }).describe(
    'Maximum number of domains returned',
  ),
});

export const foundDomains = z
  .array(
    component('FoundDomain', 'A domain of any project', {
      id: domainId,
      hostname,
      unicodeHostname: z.string().describe('Display form: Unicode'),
      project: z.object({ id: projectId, name: z.string() }),
      status: domainStatus,
      removedAt: z.nullable(time()).describe('Null while the domain is attached'),
    }),
  )
  .meta({
    id: 'FoundDomains',
    description: 'Matching domains: the exact name first, removed domains last',
  });

/** Queues with one job per domain, then sweeps that process many domains per run. */
export const workplaces = [...domainQueues, ...sweepNames] as const;
const workplace = z.enum(workplaces).meta({
  id: 'Workplace',
  description: 'Queue with one job per domain, or a sweep over many domains',
});

/** Each queue and sweep has an entry, even if no work is due there. */
const work = component('DomainWork', 'Pending work of a domain in one queue or sweep', {
  queue: workplace,
  isSweep: z.boolean().describe('Whether this is a sweep, without a job per domain'),
  dueAt: z.nullable(time()).describe('Due time in the database; null if nothing is due'),
  job: z
    .nullable(
      z.object({
        state: z.enum(['active', 'waiting', 'delayed', 'completed', 'failed', 'unknown']),
        attempts: count(),
        runAt: z.nullable(time()).describe('Planned start of the job'),
        failedReason: z.nullable(z.string()),
        log: z.array(z.string()).describe('Its last attempts, newest first'),
      }),
    )
    .describe('Null if there is no job or Redis does not answer'),
  quarantined: z.nullable(
    z.object({ reason: z.string(), times: count(), since: time(), until: time() }),
  ),
});

/** Includes removed domains. */
export const watchedDomain = component('WatchedDomain', 'Everything known about a domain', {
  id: domainId,
  project: z.object({ id: projectId, name: z.string() }),
  removedAt: z.nullable(time()).describe('Null while the domain is attached'),
  domain,
  escalation: z.nullable(projectEscalation).describe('The open escalation'),
  queueAnswers: z.boolean(),
  work: z.array(work),
  timeline: z.array(event).describe('The latest 200 events, newest first'),
});

export const runRequest = requestComponent('RunRequest', 'Work to run now', { queue: workplace });

const setting = z.string().describe('The variable');

export const fleetProcess = component('Process', 'A process of the installation', {
  id: uuid(),
  role: explainedEnum('ProcessRole', 'What the process does (ROLE)', {
    all: 'Everything',
    api: 'Serves the API and the dashboard',
    worker: 'Checks domains and obtains certificates',
    edge: "Serves customers' domains",
  }),
  host: z.string().describe('Name of its machine or container'),
  pid: wholeNumber({ min: 1, max: 2_147_483_647 }).describe('Process ID there'),
  version: z.string().describe('With the commit, if it is known: `0.2.0+1a2b3c4`'),
  state: explainedEnum('ProcessState', 'State of a process', {
    running: 'It reported within the last 30 seconds',
    gone: 'It ended without saying so, or cannot reach the database',
    refused: 'It did not start, because its configuration differs',
  }),
  startedAt: time(),
  seenAt: time().describe('Time of its last report'),
  problem: z.nullable(sentence('Why it was refused, or what is wrong while it runs')),
  differs: z
    .array(z.object({ setting, value: z.string(), current: z.string() }))
    .describe('Settings in which it differs from the installation'),
  settings: z
    .array(z.object({ setting, value: z.string() }))
    .describe('What processes must set alike, without secrets'),
});

export const fleetProcesses = z
  .array(fleetProcess)
  .meta({ id: 'Processes', description: 'The last one started first' });

export const processExample = {
  id: '0d4c7d5e-1111-4c4f-8a88-0a4f0b1f2a3c',
  role: 'worker',
  host: 'worker-2',
  pid: 1,
  version: '0.2.0',
  state: 'refused',
  startedAt: '2026-11-20T12:00:00.000Z',
  seenAt: '2026-11-20T12:00:08.000Z',
  problem:
    'ACME_DIRECTORY_URL is local, but https://acme.example/directory in this installation. Set the same value. If the change is intended: signpost fleet accept.',
  differs: [],
  settings: [{ setting: 'ACME_DIRECTORY_URL', value: 'local' }],
} as const;
