/** What operators see of every project, and what they restart. */
import type { GrantedDomainId, InstallationAccess } from '../../core/accounts/access.ts';
import { followUps } from '../../core/life/follow-ups.ts';
import { hostnamePart } from '../../core/names/idna.ts';
import {
  type DomainJob,
  type DomainQueue,
  domainQueues,
  isUuid,
} from '../../core/operations/jobs.ts';
import type { Quarantine } from '../../core/records.ts';
import type { DomainDetails } from '../../db/domains/domains.ts';
import type { Sweep } from '../../db/domains/sweeps.ts';
import type { EventRow } from '../../db/events.ts';
import { dueForSweep, type FoundDomain, type WatchedDomain } from '../../db/operations.ts';
import { eventView } from '../../events/event-stream.ts';
import type { ReadOverview } from '../../ops/overview.ts';
import type { SeenQueues } from '../../queue/queues.ts';
import type { SeenJob } from '../../queue/seen-job.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { domain } from '../schemas/domains.ts';
import { docsDomain, foundExample, overviewExample, watchedExample } from '../schemas/examples.ts';
import {
  domainSearch,
  foundDomains,
  operationsOverview,
  runRequest,
  watchedDomain,
} from '../schemas/operations.ts';
import { domainView } from './domain-view.ts';
import { projectEscalationView } from './escalation-view.ts';
import { foundDomainView, overviewView } from './operations-view.ts';
import { type VerifyDeps, verifyNow } from './verify-now.ts';

/** What operators see, across all projects, and how they set work going. */
export type OperationsRoutesDeps = VerifyDeps & {
  readonly overview: ReadOverview;
  readonly queues: Pick<SeenQueues, 'see'>;
  /** At most `limit` domains of every project whose host name has this part, removed ones among them. */
  search(access: InstallationAccess, part: string, limit: number): Promise<readonly FoundDomain[]>;
  /** Also a removed domain; null where there is none with this id. */
  find(access: InstallationAccess, id: string): Promise<WatchedDomain | null>;
  /** What of the domain was ever set aside and has not gone well since, by queue. */
  notes(id: GrantedDomainId): Promise<readonly Quarantine[]>;
  /** At most `limit` events, the newest first. */
  timeline(id: GrantedDomainId, limit: number): Promise<readonly EventRow[]>;
  /**
   * Wakes the domain's job in a queue, or adds it. Never rejects: the reconciler makes good what a queue that is away has
   * missed.
   */
  runNow(queue: DomainQueue, job: DomainJob, requestId: string): Promise<void>;
  /** Has a sweep take the domain in its next turn, also where it was set aside. */
  bringToSweep(domain: WatchedDomain, sweep: Sweep, at: Date): Promise<void>;
};

/** Events of a domain that are shown, as in its own timeline. */
const TIMELINE_LENGTH = 200;
const inCommon = { tag: 'Operations', stability: 'experimental', operators: true } as const;
const domainPath = '/v1/operations/domains/:domainId';
const shown = { schema: domain, example: docsDomain } as const;

/** Reading needs `ops:read`; setting work going needs `admin`. */
export function operationsRoutes(deps: OperationsRoutesDeps): readonly Route[] {
  return [getOverview, searchDomains, getDomain, runJob, verifyDomain].map((make) => make(deps));
}

/** All who ask within 5 s get the same reading (src/ops/overview.ts), unless an operator has set work going meanwhile. */
function getOverview({ overview }: OperationsRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: '/v1/operations/overview',
    scope: 'ops:read',
    operationId: 'getOperationsOverview',
    summary: 'Whether anything is wrong',
    description:
      'The whole installation: what to put right first, what waits, what is stuck and why, and what happened lately. Read every five seconds at most, however many ask.',
    success: {
      status: 200,
      description: 'The overview',
      schema: operationsOverview,
      example: overviewExample,
    },
    handle: async () => ({ status: 200, body: overviewView(await overview.read()) }),
  });
}

/** Reads the host name of every domain, as no index knows parts of names (src/db/operations.ts). */
function searchDomains({ search }: OperationsRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: '/v1/operations/domains',
    scope: 'ops:read',
    operationId: 'searchDomains',
    summary: 'Find domains by their name',
    description:
      'Domains of every project whose host name has this in it, removed ones among them. The one that is exactly this comes first, then those that are attached.',
    query: domainSearch,
    success: {
      status: 200,
      description: 'The domains',
      schema: foundDomains,
      example: [foundExample],
    },
    handle: async ({ key, query: { hostname, limit } }) => ({
      status: 200,
      body: (await search(key.access, hostnamePart(hostname), limit)).map(foundDomainView),
    }),
  });
}

/** Where the queue is away, it answers all the same, without jobs and with `queueAnswers` false. */
function getDomain(deps: OperationsRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: domainPath,
    scope: 'ops:read',
    operationId: 'getWatchedDomain',
    summary: 'Show a domain with its jobs',
    description:
      'The domain as its project sees it, and what an operator asks next: its jobs with what their attempts said, what was set aside and why, its open escalation, what happened. Also a removed one.',
    success: {
      status: 200,
      description: 'The domain',
      schema: watchedDomain,
      example: watchedExample,
    },
    refusals: ['domain_not_found'],
    handle: ({ key, params }) =>
      withDomain(deps, key.access, params.domainId, async (found) => ({
        status: 200,
        body: await watchedView(deps, found),
      })),
  });
}

/** Answers with the domain as it is before the job runs. */
function runJob(deps: OperationsRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'POST',
    path: `${domainPath}/run`,
    scope: 'admin',
    operationId: 'runDomainJob',
    summary: "Run a domain's job now",
    description:
      'Wakes a job that waits, adds one that is missing, and tries one that was set aside before its time: its next fault sets it aside again, for longer. A sweep takes the domain in its next turn. If the certificate authority asked us to wait, we still do.',
    body: runRequest,
    bodyExample: { queue: 'check-dns' },
    success: {
      status: 202,
      description: 'The domain’s current state; the job is on its way',
      ...shown,
    },
    refusals: ['domain_not_found', 'nothing_waits'],
    handle: ({ key, params, body: { queue }, requestId }) =>
      withDomain(deps, key.access, params.domainId, async (found) => {
        if (dueAt(found, queue) === null) return refuse('nothing_waits');
        const job = { domainId: found.id, epoch: found.epoch };
        if (!isDomainQueue(queue)) await deps.bringToSweep(found, queue, deps.now());
        return {
          ...accepted(deps, found),
          about: { kind: 'domain', id: found.hostname, projectId: found.projectId } as const,
          // After the commit, because the queue is no part of the transaction.
          afterCommit: async () => {
            deps.overview.forget();
            if (isDomainQueue(queue)) await deps.runNow(queue, job, requestId);
          },
        };
      }),
  });
}

/** Calls what the project's own operation calls, so that both do the same. */
function verifyDomain(deps: OperationsRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'domain',
    method: 'POST',
    path: `${domainPath}/verify`,
    scope: 'admin',
    operationId: 'verifyWatchedDomain',
    summary: 'Verify or re-verify a domain of any project',
    description: 'The same as verifying it in its project.',
    success: {
      status: 202,
      description: 'The domain’s current state; the check is under way',
      ...shown,
    },
    refusals: ['domain_not_found'],
    handle: ({ key, params, requestId }) =>
      withDomain(deps, key.access, params.domainId, ({ projectId, hostname }) => {
        const asked = { projectId, hostname, requestId };
        return verifyNow(deps, asked, (verified) => accepted(deps, verified));
      }),
  });
}

/**
 * 202 with the domain as its project sees it, without its jobs: read within a transaction, they would have embedded storage
 * wait for itself.
 */
function accepted({ windowMs, now }: VerifyDeps, found: DomainDetails): ApiResponse {
  return { status: 202, body: domainView(found, windowMs, now()) };
}

/** Runs `act` with the domain; 404 for an id of none, and for text that is no UUID. */
async function withDomain<Answer extends ApiResponse>(
  deps: OperationsRoutesDeps,
  access: InstallationAccess,
  id: string,
  act: (found: WatchedDomain) => Promise<Answer>,
): Promise<Answer | Refusal> {
  const found = isUuid(id) ? await deps.find(access, id) : null;
  return found === null ? refuse('domain_not_found') : act(found);
}

/** The WatchedDomain of docs/api.md. The reads come one after the other, so they are of slightly different moments. */
async function watchedView(deps: OperationsRoutesDeps, found: WatchedDomain) {
  const { id, epoch, hostname, projectId, project, removedAt, escalations } = found;
  const [open] = escalations;
  const notes = await deps.notes(id);
  const events = await deps.timeline(id, TIMELINE_LENGTH);
  const jobs = await seeJobs(deps, { domainId: id, epoch });
  const noteOf = (queue: string) => notes.find((note) => note.queue === queue);
  return {
    id,
    project: { id: projectId, name: project.name },
    removedAt,
    domain: domainView(found, deps.windowMs, deps.now()),
    escalation: open ? projectEscalationView({ ...open, domain: { projectId, hostname } }) : null,
    queueAnswers: jobs !== null,
    work: [...domainQueues, ...sweeps].map((queue) => ({
      queue,
      isSweep: !isDomainQueue(queue),
      dueAt: dueAt(found, queue),
      job: jobs?.get(queue) ?? null,
      setAside: asideView(noteOf(queue), deps.now()),
    })),
    timeline: events.map(eventView),
  };
}

/** Sweeps that a domain can wait for; each takes many domains in one turn. */
const sweeps = ['recheck-live', 'renew-certificate', 'escalate-renewals'] as const;

/** Whether the domain has a job of its own there. */
function isDomainQueue(queue: DomainQueue | Sweep): queue is DomainQueue {
  return domainQueues.some((one) => one === queue);
}

/** When the domain is due in a queue or a sweep, by the database; null where it waits for nothing there. */
function dueAt(found: WatchedDomain, queue: DomainQueue | Sweep): Date | null {
  if (!isDomainQueue(queue)) return dueForSweep(found, queue);
  if (found.removedAt !== null) return null;
  return followUps(found).find((job) => job.queue === queue)?.runAt ?? null;
}

/** Null where nothing was set aside, or the time until which it was is over. */
function asideView(note: Quarantine | undefined, now: Date) {
  if (note === undefined || note.until <= now) return null;
  const { reason, times, since, until } = note;
  return { reason, times, since, until };
}

/** The domain's job in each queue, null where there is none; null for all where the queue does not answer. Never rejects. */
async function seeJobs(
  { queues }: OperationsRoutesDeps,
  job: DomainJob,
): Promise<ReadonlyMap<string, SeenJob | null> | null> {
  try {
    const seen = domainQueues.map(async (name) => [name, await queues.see(name, job)] as const);
    return new Map(await Promise.all(seen));
  } catch {
    return null; // what the database says is there all the same
  }
}
