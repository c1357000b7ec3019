import { caddyfile } from '../../../src/edge/caddy/caddyfile.ts';
import type { EdgePorts } from '../../../src/edge/edge.ts';
import type { EdgeLimits } from '../../../src/edge/limits.ts';
import { type Caddy, runCaddy } from '../../support/caddy.ts';

/** Authenticates Caddy to the edge. */
export const SECRET = 'the-secret-of-caddy-and-this-edge';

/** A Caddy configured by `signpost edge caddyfile`. */
export function startFrontCaddy(
  { gatewayPort = 0, ...ports }: EdgePorts & { readonly publicHttpsPort: number | undefined },
  limits: EdgeLimits,
): Promise<Caddy> {
  const caddy = { address: '127.0.0.1', port: gatewayPort };
  const text = caddyfile(
    { http: { host: '127.0.0.1' }, api: { trustedProxies: [] }, edge: { ...ports, caddy } },
    limits,
  );
  return runCaddy(() => text, { EDGE_CADDY_SECRET: SECRET });
}
