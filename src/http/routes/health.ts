/** Probes for an orchestrator: alive, and ready for work. */
import { z } from 'zod';
import { refuse } from '../errors.ts';
import { type Route, route } from '../route.ts';

const inCommon = { method: 'GET', scope: null, tag: 'Service', stability: 'stable' } as const;

const alive = z.object({ status: z.literal('alive') });
const ready = z.object({ status: z.literal('ready') });

export function healthRoutes({ isReady }: { isReady(): Promise<boolean> }): readonly Route[] {
  return [
    route({
      ...inCommon,
      path: '/healthz',
      operationId: 'getLiveness',
      summary: 'Whether the process is alive',
      description: 'Asks nothing else: a process that cannot reach its database is alive.',
      success: {
        status: 200,
        description: 'It is',
        schema: alive,
        example: { status: 'alive' },
      },
      handle: async () => ({ status: 200, body: { status: 'alive' } }),
    }),
    route({
      ...inCommon,
      path: '/readyz',
      operationId: 'getReadiness',
      summary: 'Whether the process is ready for work',
      description: 'Asks the database; where it does not answer, this is 503.',
      refusals: ['unavailable'],
      success: {
        status: 200,
        description: 'It is',
        schema: ready,
        example: { status: 'ready' },
      },
      handle: async () =>
        (await isReady())
          ? { status: 200, body: { status: 'ready' } }
          : refuse('unavailable', 'The database does not answer.', { 'retry-after': '5' }),
    }),
  ];
}
