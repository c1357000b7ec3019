/** The processes of the installation, for operators. */
import type { SeenProcess, SharedSettings } from '../../core/operations/fleet.ts';
import { isUuid } from '../../core/operations/jobs.ts';
import type { SeenFleet } from '../../service/overview.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { fleetProcess, fleetProcesses, processExample } from '../schemas/fleet.ts';

export type FleetRoutesDeps = {
  read(): Promise<SeenFleet>;
  /** Idempotent. Null if no process with this ID was refused. */
  accept(id: string): Promise<SharedSettings | null>;
};

export function fleetRoutes(deps: FleetRoutesDeps): readonly Route[] {
  return [listProcesses(deps), acceptConfiguration(deps)];
}

function listProcesses({ read }: FleetRoutesDeps): Route {
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
    handle: async () => ({ status: 200, body: (await read()).processes.map(processView) }),
  });
}

function acceptConfiguration({ read, accept }: FleetRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/operations/processes/:processId/accept',
    scope: 'admin',
    operationId: 'acceptConfiguration',
    tag: 'Operations',
    stability: 'experimental',
    summary: 'Accept the configuration of a refused process',
    description:
      'For an hour, processes can start with its settings, although others still run with different ones. Start it again, then restart the others.',
    success: {
      status: 200,
      description: 'The refused process',
      schema: fleetProcess,
      example: processExample,
    },
    refusals: ['process_not_found'],
    async handle({ params: { processId } }) {
      const { processes } = await read();
      const found = processes.find(({ id }) => id === processId);
      const isKnown = found !== undefined && isUuid(processId);
      if (!isKnown || (await accept(processId)) === null) return refuse('process_not_found');
      return { status: 200, body: processView(found) };
    },
  });
}

/** The Process of docs/run/operators-api.md. */
function processView({ settings, differs, isCutOff, ...process }: SeenProcess) {
  const { id, role, host, pid, version, state, startedAt, seenAt } = process;
  const problem =
    process.problem ?? (isCutOff ? `REDIS_URL ${settings.REDIS_URL} does not answer.` : null);
  return {
    ...{ id, role, host, pid, version, state, startedAt, seenAt, problem },
    differs: differs.map(({ name, one, other }) => ({ setting: name, value: one, current: other })),
    settings: Object.entries(settings).map(([name, value]) => ({ setting: name, value })),
  };
}
