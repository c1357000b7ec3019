/** Operator views of all projects, and restarting their work. */
import { type Access, asInstallation, wholeInstallation } from '../../core/access.ts';
import { partOfName } from '../../core/names/idna.ts';
import type { SeenProcess } from '../../core/operations/fleet.ts';
import {
  type DomainJob,
  type DomainQueue,
  domainQueues,
  followUps,
} from '../../core/operations/jobs.ts';
import type { Quarantine } from '../../core/records.ts';
import { isUuid } from '../../core/uuid.ts';
import type { DomainDetails } from '../../db/domains/domain-list.ts';
import type { SweepName } from '../../db/domains/sweeps.ts';
import { loadTimeline } from '../../db/events.ts';
import {
  bringToSweep,
  dueForSweep,
  findDomains,
  findWatchedDomain,
  loadNotes,
  type OperationsDomain,
} from '../../db/operations.ts';
import { eventView } from '../../events/event-stream.ts';
import type { SeenJob } from '../../queue/queues.ts';
import { fleetStore, loadFleet } from '../../service/fleet.ts';
import type { InstallationOverview } from '../../service/overview.ts';
import type { Service } from '../../service/service.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { domain } from '../schemas/domains.ts';
import { docsDomain, foundExample, overviewExample, watchedExample } from '../schemas/examples.ts';
import {
  domainSearch,
  fleetProcess,
  fleetProcesses,
  foundDomains,
  operationsOverview,
  processExample,
  runRequest,
  watchedDomain,
  workplaces,
} from '../schemas/operations.ts';
import { runNow } from './after-commit.ts';
import { domainView } from './domain-view.ts';
import { verifyNow } from './domains.ts';
import { projectEscalationView } from './escalation-view.ts';
import { foundDomainView, overviewView } from './operations-view.ts';

/** As the schema says. */
const TIMELINE_LENGTH = 200;

const inCommon = { tag: 'Operations', stability: 'experimental' } as const;
const domainPath = '/v1/operations/domains/:domainId';

/** Reads need `ops:read`, actions need `admin`. */
export function operationsRoutes(
  service: Service,
  overview: InstallationOverview,
): readonly Route[] {
  return [
    getOverview(overview),
    searchDomains(service),
    getDomain(service),
    runJob(service, overview),
    verifyDomain(service),
  ];
}

/** Cached for 5 s (src/service/overview.ts), unless an operator starts an action in between. */
function getOverview(overview: InstallationOverview): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/operations/overview',
    scope: 'ops:read',
    operationId: 'getOperationsOverview',
    summary: 'Get the operations overview',
    description:
      'The state of the whole installation: the most urgent problems, waiting and stuck domains, and recent events. Refreshed at most every five seconds.',
    success: success(200, 'The operations overview', operationsOverview, overviewExample),
    handle: async () => ({ status: 200, body: overviewView(await overview.read()) }),
  });
}

/** Scans all domains: no index covers parts of names (src/db/operations.ts). */
function searchDomains({ database }: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/operations/domains',
    scope: 'ops:read',
    operationId: 'searchDomains',
    summary: 'Find domains by name',
    description:
      'Domains of all projects whose host name contains the text, including removed ones. The exact match comes first, then attached domains.',
    query: domainSearch,
    success: success(200, 'Matching domains', foundDomains, [foundExample]),
    handle: async ({ access, query: { hostname, limit } }) => ({
      status: 200,
      body: (
        await findDomains(database.prisma, asInstallation(access), partOfName(hostname), limit)
      ).map(foundDomainView),
    }),
  });
}

/** If Redis is down, it answers without jobs and with `queueAnswers` false. */
function getDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `GET ${domainPath}`,
    scope: 'ops:read',
    operationId: 'getWatchedDomain',
    summary: 'Show a domain and its jobs',
    description:
      'The domain as its project sees it, plus its jobs with their logs, quarantined work, its open escalation and its events. Removed domains are shown too.',
    success: success(200, 'The domain and its jobs', watchedDomain, watchedExample),
    refusals: ['domain_not_found'],
    handle: ({ access, params }) =>
      withDomain(service, access, params.domainId, async (found) => ({
        status: 200,
        body: await watchedView(service, found),
      })),
  });
}

/** Answers with the domain's state before the job runs. */
function runJob(service: Service, overview: InstallationOverview): Route {
  return route({
    ...inCommon,
    at: `POST ${domainPath}/run`,
    scope: 'admin',
    operationId: 'runDomainJob',
    summary: "Run a domain's job now",
    description:
      'Wakes a waiting job, adds a missing one, or retries a quarantined one early. If it fails again, it is quarantined for longer. A sweep processes the domain in its next run. Delays requested by the certificate authority still apply.',
    body: runRequest,
    bodyExample: { queue: 'check-dns' },
    success: success(
      202,
      'Current state of the domain; the job starts shortly',
      domain,
      docsDomain,
    ),
    refusals: ['domain_not_found', 'nothing_waits'],
    handle: ({ access, params, body: { queue }, requestId }) =>
      withDomain(service, access, params.domainId, async (found) => {
        if (dueAt(found, queue) === null) return refuse('nothing_waits');
        const job = { domainId: found.id, epoch: found.epoch };
        if (!isDomainQueue(queue)) {
          await bringToSweep(
            service.database.prisma,
            wholeInstallation,
            found,
            queue,
            service.now(),
          );
        }
        return {
          ...accepted(service, found),
          // After the commit, because the queue is not part of the transaction.
          afterCommit: async () => {
            overview.forget();
            if (isDomainQueue(queue)) await runNow(service, queue, job, requestId);
          },
        };
      }),
  });
}

/** Shares the code of the project's own operation. */
function verifyDomain(service: Service): Route {
  return route({
    ...inCommon,
    at: `POST ${domainPath}/verify`,
    scope: 'admin',
    operationId: 'verifyWatchedDomain',
    summary: 'Verify or re-verify a domain of any project',
    description: 'Same as verifying the domain in its project.',
    success: success(
      202,
      'Current state of the domain; the check is in progress',
      domain,
      docsDomain,
    ),
    refusals: ['domain_not_found'],
    handle: ({ access, params, requestId }) =>
      withDomain(service, access, params.domainId, ({ projectId, hostname }) => {
        const asked = { access, projectId, hostname, requestId };
        return verifyNow(service, asked, (verified) => accepted(service, verified));
      }),
  });
}

/** Omits the jobs: reading them inside the transaction would deadlock the embedded database. */
function accepted({ config, now }: Service, found: DomainDetails): ApiResponse {
  return { status: 202, body: domainView(found, config.verifyWindowMs, now()) };
}

async function withDomain(
  service: Service,
  access: Access,
  id: string,
  act: (found: OperationsDomain) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const operator = asInstallation(access);
  const found = isUuid(id) ? await findWatchedDomain(service.database.prisma, operator, id) : null;
  return found === null ? refuse('domain_not_found') : act(found);
}

/** The WatchedDomain of the API. The reads are not one snapshot. */
async function watchedView(service: Service, found: OperationsDomain) {
  const { id, epoch, hostname, projectId, project, removedAt, escalations } = found;
  const [open] = escalations;
  const { prisma } = service.database;
  const notes = await loadNotes(prisma, wholeInstallation, id);
  const page = { domainIds: [id], after: null, limit: TIMELINE_LENGTH };
  const { rows: events } = await loadTimeline(prisma, wholeInstallation, page);
  const jobs = await seeJobs(service, { domainId: id, epoch });
  const noteOf = (queue: string) => notes.find((note) => note.queue === queue);
  return {
    id,
    project: { id: projectId, name: project.name },
    removedAt,
    domain: domainView(found, service.config.verifyWindowMs, service.now()),
    escalation: open ? projectEscalationView({ ...open, domain: { projectId, hostname } }) : null,
    queueAnswers: jobs !== null,
    work: workplaces.map((queue) => ({
      queue,
      isSweep: !isDomainQueue(queue),
      dueAt: dueAt(found, queue),
      job: jobs?.get(queue) ?? null,
      quarantined: quarantineView(noteOf(queue), service.now()),
    })),
    timeline: events.map(eventView),
  };
}

function isDomainQueue(queue: DomainQueue | SweepName): queue is DomainQueue {
  return domainQueues.some((one) => one === queue);
}

/** As stored in the database; null if nothing is due. */
function dueAt(found: OperationsDomain, queue: DomainQueue | SweepName): Date | null {
  if (!isDomainQueue(queue)) return dueForSweep(found, queue);
  if (found.removedAt !== null) return null;
  return followUps(found).find((job) => job.queue === queue)?.runAt ?? null;
}

/** Null if not quarantined, or if the quarantine is over. */
function quarantineView(note: Quarantine | undefined, now: Date) {
  if (note === undefined || note.until <= now) return null;
  const { reason, times, since, until } = note;
  return { reason, times, since, until };
}

/** The domain's job in each queue. Null for all if Redis is down. Never rejects. */
async function seeJobs(
  { queues }: Service,
  job: DomainJob,
): Promise<ReadonlyMap<string, SeenJob | null> | null> {
  try {
    const seen = domainQueues.map(async (name) => [name, await queues.see(name, job)] as const);
    return new Map(await Promise.all(seen));
  } catch {
    return null; // the data from the database is still shown
  }
}

// The processes of the installation, for operators.

export function fleetRoutes(service: Service, overview: InstallationOverview): readonly Route[] {
  return [listProcesses(service), acceptConfiguration(service, overview)];
}

function listProcesses(service: Service): Route {
  return route({
    at: 'GET /v1/operations/processes',
    scope: 'ops:read',
    operationId: 'listProcesses',
    tag: 'Operations',
    stability: 'experimental',
    summary: 'List the processes',
    description:
      'Processes that run, that were refused within the last 15 minutes, and that have not reported for up to an hour.',
    success: success(200, 'The processes', fleetProcesses, [processExample]),
    handle: async () => ({
      status: 200,
      body: (await loadFleet(service)).processes.map(processView),
    }),
  });
}

function acceptConfiguration(service: Service, overview: InstallationOverview): Route {
  return route({
    at: 'POST /v1/operations/processes/:processId/accept',
    scope: 'admin',
    operationId: 'acceptConfiguration',
    tag: 'Operations',
    stability: 'experimental',
    summary: 'Accept the configuration of a refused process',
    description:
      'Its settings become those of the installation. Start it again, then restart the others: with the previous settings, a process does not start any more.',
    success: success(200, 'The refused process', fleetProcess, processExample),
    refusals: ['process_not_found'],
    async handle({ params: { processId } }) {
      const { processes } = await loadFleet(service);
      const found = processes.find(({ id }) => id === processId);
      const isKnown = found !== undefined && isUuid(processId);
      if (!isKnown || !(await fleetStore(service).accept(processId))) {
        return refuse('process_not_found');
      }
      const body = processView(found);
      return { status: 200, body, afterCommit: async () => overview.forget() };
    },
  });
}

/** The Process of the API. */
function processView({ settings, differs, isCutOff, ...process }: SeenProcess) {
  const { id, role, host, pid, version, state, startedAt, seenAt } = process;
  const problem =
    process.problem ?? (isCutOff ? `REDIS_URL ${settings['REDIS_URL']} does not answer.` : null);
  return {
    ...{ id, role, host, pid, version, state, startedAt, seenAt, problem },
    differs: differs.map(({ name, value, current }) => ({ setting: name, value, current })),
    settings: Object.entries(settings).map(([name, value]) => ({ setting: name, value })),
  };
}
