/** What an edge of another make asks before it obtains a certificate (Caddy's `on_demand_tls`, option `ask`). */
import { z } from 'zod';
import { parseHostname } from '../../core/names/hostname.ts';
import type { IsNeighbour } from '../../net/client-address.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';

/** Which names are ours or held, and who may ask. */
export type InternalRoutesDeps = {
  readonly platformDomain: string;
  /** Whether a project holds the name: its DNS is right, or was until lately (src/db/domains/domains.ts). */
  isHeld(hostname: string): Promise<boolean>;
  /** Whether a client is on this machine or in a private network (src/net/client-address.ts). */
  readonly isNeighbour: IsNeighbour;
};

/** The parameter is Caddy's: it calls `?domain=<name>`. */
const askQuery = z.strictObject({
  domain: z.string().max(2_048, 'is too long').meta({
    description: 'The host name of the handshake',
    example: 'docs.example.com',
  }),
});

const held = z
  .object({ hostname: z.string().meta({ description: 'As in the DNS: A-labels, lower case' }) })
  .meta({ id: 'HeldHostname', description: 'A host name that a project holds' });

/** `GET /internal/tls/ask`. It needs no key; anybody from farther away gets the 404 of a path that does not exist. */
export function internalRoutes(deps: InternalRoutesDeps): readonly Route[] {
  return [mayHaveCertificate(deps)];
}

/** Every refusal means no, a 503 among them. */
function mayHaveCertificate({ platformDomain, isHeld, isNeighbour }: InternalRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/internal/tls/ask',
    scope: null,
    tag: 'Service',
    stability: 'beta',
    operationId: 'mayHaveCertificate',
    summary: 'Whether an edge of another make may obtain a certificate for a name',
    description:
      'Answers this machine and private networks only, and nobody whom a proxy passes on unless it is one of `TRUSTED_PROXIES`: to everybody else there is nothing here. Anything but 200 means no.',
    momentary: true,
    query: askQuery,
    success: {
      status: 200,
      description: 'A project holds the name, and its DNS is right',
      schema: held,
      example: { hostname: 'docs.example.com' },
    },
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
      if (!isNeighbour(remoteAddress, headers['x-forwarded-for'])) return refuse('not_found');
      const parsed = parseHostname(query.domain, platformDomain);
      if (!parsed.ok) return refuse(parsed.code, parsed.reason);
      const hostname = parsed.hostname.ascii;
      return (await isHeld(hostname))
        ? { status: 200, body: { hostname }, headers: { 'cache-control': 'no-store' } }
        : refuse('domain_not_found', 'No project holds this name with the right DNS.');
    },
  });
}
