/** The processes of the installation, for operators. */
import type { SeenProcess } from '../../core/operations/fleet.ts';
import { isUuid } from '../../core/uuid.ts';
import { fleetStore, loadFleet } from '../../service/fleet.ts';
import type { InstallationOverview } from '../../service/overview.ts';
import type { Service } from '../../service/service.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { fleetProcess, fleetProcesses, processExample } from '../schemas/fleet.ts';

export function fleetRoutes(service: Service, overview: InstallationOverview): readonly Route[] {
  return [listProcesses(service), acceptConfiguration(service, overview)];
}

function listProcesses(service: Service): Route {
  return route({
    method: 'GET',
    path: '/v1/operations/processes',
    scope: 'ops:read',
    operationId: 'listProcesses',
    tag: 'Operations',
    stability: 'experimental',
    summary: 'List the processes',
    description:
      'Processes that run, that were refused within the last 15 minutes, and that have not reported for up to an hour.',
    success: {
      status: 200,
      description: 'The processes',
      schema: fleetProcesses,
      example: [processExample],
    },
    handle: async () => ({
      status: 200,
      body: (await loadFleet(service)).processes.map(processView),
    }),
  });
}

function acceptConfiguration(service: Service, overview: InstallationOverview): Route {
  return route({
    method: 'POST',
    path: '/v1/operations/processes/:processId/accept',
    scope: 'admin',
    operationId: 'acceptConfiguration',
    tag: 'Operations',
    stability: 'experimental',
    summary: 'Accept the configuration of a refused process',
    description:
      'Its settings become those of the installation. Start it again, then restart the others: with the previous settings, a process does not start any more.',
    success: {
      status: 200,
      description: 'The refused process',
      schema: fleetProcess,
      example: processExample,
    },
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

/** The Process of docs/run/operators-api.md. */
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
