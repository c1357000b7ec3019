/** Tells an external edge whether it can obtain a certificate (Caddy's `on_demand_tls.ask`). */
import { z } from 'zod';
import { wholeInstallation } from '../../core/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { isHeld } from '../../db/domains/domains.ts';
import { createIsNeighbor, trustedProxies } from '../../net/client-address.ts';
import type { Service } from '../../service/service.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { component } from '../schemas/common.ts';

/** Caddy defines the parameter: `?domain=<name>`. */
const askQuery = z.strictObject({
  domain: z.string().max(2_048, 'is too long').meta({
    description: 'Host name of the TLS handshake',
    example: 'docs.example.com',
  }),
});

const held = component('HeldHostname', 'A host name that a project holds', {
  hostname: z.string().describe('DNS form: A-labels, lower case'),
});

/**
 * Needs no key. Clients outside private networks get 404, as for an unknown path. Caddy treats every
 * error status as no, including 503.
 */
export function tlsAskRoute({ config, database }: Service): Route {
  const isNeighbor = createIsNeighbor(trustedProxies(config.api.trustedProxies));
  return route({
    at: 'GET /internal/tls/ask',
    scope: null,
    tag: 'Service',
    stability: 'beta',
    operationId: 'mayHaveCertificate',
    summary: 'Check whether an external edge can obtain a certificate',
    description:
      'Status 200 allows the certificate; any other status denies it. Accepts requests only from this machine and private networks; other clients get 404. A client behind a proxy is recognized if the proxy is one of `TRUSTED_PROXIES`.',
    momentary: true,
    query: askQuery,
    success: success(200, 'A project holds the name and its DNS is correct', held, {
      hostname: 'docs.example.com',
    }),
    refusals: [
      'invalid_hostname',
      'public_suffix',
      'platform_hostname',
      'wildcard_unsupported',
      'not_found',
      'domain_not_found',
      'unavailable',
    ],
    handle: async ({ headers, query, remoteAddress }) => {
      if (!isNeighbor(remoteAddress, headers['x-forwarded-for'])) return refuse('not_found');
      const parsed = parseHostname(query.domain, config.platform.domain);
      if (!parsed.ok) return refuse(parsed.code, parsed.reason);
      const hostname = parsed.hostname.ascii;
      return (await isHeld(database.prisma, wholeInstallation, hostname))
        ? { status: 200, body: { hostname }, headers: { 'cache-control': 'no-store' } }
        : refuse('domain_not_found', 'No project holds this name with correct DNS.');
    },
  });
}
