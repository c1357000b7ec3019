/** Probes for an orchestrator: alive, and ready for work. */
import { refuse } from '../errors.ts';
import { type Route, route } from '../route.ts';

export function healthRoutes({ isReady }: { isReady(): Promise<boolean> }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/healthz',
      scope: null,
      operationId: 'getLiveness',
      handle: async () => ({ status: 200, body: { status: 'alive' } }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      scope: null,
      operationId: 'getReadiness',
      handle: async () =>
        (await isReady())
          ? { status: 200, body: { status: 'ready' } }
          : refuse('unavailable', 'The database does not answer.', { 'retry-after': '5' }),
    }),
  ];
}
