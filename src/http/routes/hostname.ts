import { parseHostname } from '../../core/names/hostname.ts';
import { recordFor } from '../../core/names/instructions.ts';
import type { Service } from '../../service/service.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { hostnameQuery, hostnameReading } from '../schemas/domains.ts';
import { docsReading } from '../schemas/examples.ts';

/** Refuses the same names as adding a domain, without DNS or database queries. */
export function hostnameRoute({ config }: Service): Route {
  return route({
    tag: 'Domains',
    stability: 'experimental',
    method: 'GET',
    path: '/v1/hostname',
    scope: 'domains:read',
    operationId: 'readHostname',
    summary: 'Parse a host name',
    description:
      'Parses typed or pasted text and refuses it for the same reasons as adding a domain does. No lookups, no changes.',
    query: hostnameQuery,
    success: {
      status: 200,
      description: 'The parsed host name',
      schema: hostnameReading,
      example: docsReading,
    },
    refusals: ['invalid_hostname', 'wildcard_unsupported', 'platform_hostname', 'public_suffix'],
    handle: async ({ query }) => {
      const parsed = parseHostname(query.text, config.platform.domain);
      if (!parsed.ok) return refuse(parsed.code, parsed.reason);
      const { ascii, unicode, zone } = parsed.hostname;
      const { type, name } = recordFor({ hostname: ascii, target: '' });
      return {
        status: 200,
        body: { hostname: ascii, unicodeHostname: unicode, zone, record: { type, name } },
      };
    },
  });
}
