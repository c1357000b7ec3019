/** A test route without the texts that the OpenAPI document requires. */

import type { ApiResponse } from '../../src/http/pipeline/errors.ts';
import {
  type ApiRequest,
  type Method,
  type Route,
  success,
} from '../../src/http/pipeline/route.ts';

type PlainRoute = Partial<Omit<Route, 'prepare'>> & {
  readonly method?: Method;
  readonly path: string;
  readonly handle?: (request: ApiRequest) => Promise<ApiResponse>;
};

const OF_A_TEST = 'Of a test';

export function isPlain({ summary }: Route): boolean {
  return summary === OF_A_TEST;
}

/** GET without a key or schemas by default; its query is not validated. */
export function plainRoute({ handle = async () => ({ status: 200 }), ...rest }: PlainRoute): Route {
  return {
    method: 'GET',
    scope: null,
    operationId: `${rest.method ?? 'GET'} ${rest.path}`,
    tag: 'Pets',
    summary: OF_A_TEST,
    stability: 'experimental',
    success: success(200, 'Done'),
    query: undefined,
    body: undefined,
    prepare: (request) => ({ ok: true, preload: async () => {}, run: () => handle(request) }),
    ...rest,
  };
}
