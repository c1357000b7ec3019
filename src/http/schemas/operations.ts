/** What operators see, as schemas: the OpenAPI document is made from them. */
import { z } from 'zod';
import { domainQueues, queueNames } from '../../core/operations/jobs.ts';
import type { OperatorTaskCode, Urgency } from '../../core/operations/operator-tasks.ts';
import { int64, queryInteger, text, time, uuid, wholeNumber } from '../pipeline/json.ts';
import { actor, explainedEnum, sentence } from './common.ts';
import { domain, domainStatus, escalationCause, findingCode, severity } from './domains.ts';
import { projectEscalation } from './escalations.ts';
import { event } from './events.ts';
import { projectId } from './projects.ts';

/** How many: a number, never negative. */
const count = () => wholeNumber({ min: 0, max: 2_147_483_647 });
const hostname = z.string().meta({ description: 'As in the DNS: A-labels, lower case' });
const domainId = uuid().meta({ description: 'ID of the domain' });
/** What names a domain in a list. */
const listed = { id: domainId, hostname, projectId };

/** Made by src/core/operations/operator-tasks.ts, which decides what is worth it. */
const attention = z
  .object({
    code: explainedEnum('OperatorTaskCode', 'What is wrong', {
      queue_away: 'The queue does not answer',
      no_worker: 'No worker takes its turns',
      queue_paused: 'Somebody has paused a queue, and nothing in it runs',
      resolvers_silent: 'Our own resolvers fail for many domains',
      work_overdue: 'Work is done later than it is due',
      certificates_ended: 'Domains are served with an expired certificate',
      escalations_open: 'Domains get no certificate, or no next one',
      jobs_set_aside: 'Jobs went wrong again and again',
      certificates_end_soon: 'Certificates end within a week',
      dns_operator_silent: 'An operator of name servers does not answer about many domains',
    } satisfies Readonly<Record<OperatorTaskCode, string>>),
    urgency: explainedEnum('Urgency', 'How soon somebody has to act', {
      act: 'Customers are affected, or will be within a day',
      watch: 'It may pass by itself',
    } satisfies Readonly<Record<Urgency, string>>),
    summary: sentence('What is wrong'),
    action: sentence('What to do about it'),
  })
  .meta({ id: 'Attention', description: 'Something that an operator has to act on' });

/** Every queue there is, those with a job for each domain among them. */
const queueName = z.enum(queueNames).meta({ id: 'QueueName', description: 'A queue' });

/** A job that failed again and again and is tried more rarely until it succeeds. */
const setAsideJob = z.object({
  queue: z.string().meta({ description: 'Its queue, or the sweep that leaves the domain alone' }),
  domainId: z.nullable(domainId).meta({ description: 'Null where it is no job of a domain' }),
  hostname: z.nullable(hostname),
  reason: sentence('What went wrong, last'),
  times: count().meta({ description: 'How often it was set aside: each time for longer' }),
  since: time(),
  until: time().meta({ description: 'When it is tried again by itself' }),
});

/** What is left at this installation's own count (src/core/certificates/budget.ts). */
const budget = z
  .array(
    z.object({
      authority: sentence('The certificate authority'),
      limit: sentence('Which of its limits'),
      left: count(),
      of: count(),
      fullAt: time().meta({ description: 'When all of it is there again' }),
    }),
  )
  .meta({ description: 'The limits of which least is left' });

/** Answer of `GET /v1/operations/overview`. Every list has an end, whatever the size of the installation. */
export const operationsOverview = z
  .object({
    at: time().meta({ description: 'When this was read: some seconds ago at most' }),
    attention: z.array(attention).meta({
      description: 'What to put right, in this order; empty: nothing is known to be wrong',
    }),
    domains: z
      .object({
        pending: count(),
        verified: count(),
        live: count(),
        drifted: count(),
        failed: count(),
      })
      .meta({ description: 'Attached domains by their status' }),
    waiting: z
      .array(
        z.object({
          ...listed,
          status: domainStatus,
          since: time().meta({ description: 'Since when it waits for its DNS or certificate' }),
          nextCheckAt: z.nullable(time()),
        }),
      )
      .meta({ description: 'The ten that wait for longest' }),
    overdue: z
      .array(z.object({ queue: queueName, seconds: count() }))
      .meta({ description: 'How late what is longest overdue is; 0 where nothing is' }),
    queues: z
      .nullable(
        z.array(
          z.object({
            queue: queueName,
            waiting: count(),
            delayed: count(),
            active: count(),
            failed: count(),
            prioritized: count(),
            isPaused: z.boolean().meta({ description: 'Nothing in it runs until it is resumed' }),
          }),
        ),
      )
      .meta({ description: 'Jobs by their state; null where the queue does not answer' }),
    escalations: z.array(z.object({ cause: escalationCause, open: count() })),
    setAside: z.object({
      total: count(),
      newest: z.array(setAsideJob).meta({ description: 'At most twenty' }),
    }),
    findings: z
      .array(z.object({ code: findingCode, severity, actor, domains: count() }))
      .meta({ description: 'How many domains have each finding, the most frequent first' }),
    dnsOperators: z
      .array(
        z.object({
          operator: sentence(
            'The registrable domain of its name servers; “our resolvers” where those did not lead to any',
          ),
          domains: count(),
          hostnames: z.array(hostname).meta({ description: 'Three of them' }),
        }),
      )
      .meta({ description: 'Whose name servers answered nothing that says anything, last time' }),
    certificates: z.object({
      byDaysLeft: z.array(
        z.object({
          within: explainedEnum('DaysLeft', 'How long a certificate still is good', {
            ended: 'It has ended',
            '1': 'Less than a day',
            '7': 'Less than seven days',
            '30': 'Less than thirty days',
            more: 'Thirty days and more',
          }),
          domains: count(),
        }),
      ),
      soonest: z
        .array(z.object({ ...listed, endsAt: time() }))
        .meta({ description: 'The ten served domains whose certificates end first' }),
    }),
    activity: z
      .object({
        since: time().meta({ description: 'From when on everything is counted' }),
        hours: z.array(
          z.object({
            at: time().meta({ description: 'When the hour began' }),
            counts: z.array(z.object({ type: z.string(), count: count() })),
          }),
        ),
      })
      .meta({ description: 'Events of the last 24 hours; hours without any are left out' }),
    repairs: z
      .array(z.object({ kind: z.string(), count: int64(), lastAt: time() }))
      .meta({ description: 'What the reconciler had to put right, since the beginning' }),
    turns: z
      .array(z.object({ name: z.string(), takenAt: time() }))
      .meta({ description: 'When each periodic task last ran' }),
    authorityBudget: z.nullable(budget).meta({
      description: 'What is left of what the certificate authority allows; null: it is not counted',
    }),
  })
  .meta({ id: 'OperationsOverview', description: 'Whether anything is wrong, and what to do' });

/** Query of `GET /v1/operations/domains`. `limit` becomes a number. */
export const domainSearch = z.strictObject({
  hostname: text({ max: 253 }).meta({
    description: 'The host name or a part of it, in any script',
    example: 'docs.example',
  }),
  limit: queryInteger({ min: 1, max: 100, default: 20 }).meta({
    description: 'Maximum number of domains returned',
  }),
});

/** Answer of `GET /v1/operations/domains`. */
export const foundDomains = z
  .array(
    z
      .object({
        id: domainId,
        hostname,
        unicodeHostname: z.string().meta({ description: 'As people read it' }),
        project: z.object({ id: projectId, name: z.string() }),
        status: domainStatus,
        removedAt: z.nullable(time()).meta({ description: 'Null while it is attached' }),
      })
      .meta({ id: 'FoundDomain', description: 'A domain of any project' }),
  )
  .meta({ id: 'FoundDomains', description: 'The exact name first, removed ones last' });

/** Where a domain may wait for work: queues with a job of its own, then sweeps that take many domains in a turn. */
export const workplaces = [
  ...domainQueues,
  'recheck-live',
  'renew-certificate',
  'escalate-renewals',
] as const;
const workplace = z
  .enum(workplaces)
  .meta({ id: 'Workplace', description: 'A queue with a job for each domain, or a sweep of many' });

/** A domain has an entry for each queue and sweep, whether it waits there or not. */
const work = z
  .object({
    queue: workplace,
    isSweep: z.boolean().meta({ description: 'Whether it has no job of its own there' }),
    dueAt: z.nullable(time()).meta({ description: 'By the database; null: it waits for nothing' }),
    job: z
      .nullable(
        z.object({
          state: z.enum(['active', 'waiting', 'delayed', 'completed', 'failed', 'unknown']),
          attempts: count(),
          runAt: z.nullable(time()).meta({ description: 'When it wakes' }),
          failedReason: z.nullable(z.string()),
          log: z.array(z.string()).meta({ description: 'Its last attempts, the newest first' }),
        }),
      )
      .meta({ description: 'Null where there is none, or the queue does not answer' }),
    setAside: z.nullable(
      z.object({ reason: z.string(), times: count(), since: time(), until: time() }),
    ),
  })
  .meta({ id: 'DomainWork', description: 'What is to be done about a domain, and by which queue' });

/** Answer of `GET /v1/operations/domains/{domainId}`, also for a domain that was removed. */
export const watchedDomain = z
  .object({
    id: domainId,
    project: z.object({ id: projectId, name: z.string() }),
    removedAt: z.nullable(time()).meta({ description: 'Null while it is attached' }),
    domain,
    escalation: z.nullable(projectEscalation).meta({ description: 'The open one' }),
    queueAnswers: z.boolean(),
    work: z.array(work),
    timeline: z.array(event).meta({ description: 'The newest 200 events, the newest first' }),
  })
  .meta({ id: 'WatchedDomain', description: 'A domain with all that is known of it' });

/** Body of `POST /v1/operations/domains/{domainId}/run`. */
export const runRequest = z
  .strictObject({ queue: workplace })
  .meta({ id: 'RunRequest', description: 'What is to be done now' });
