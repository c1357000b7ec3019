/** How a host name is read before it is added, for a field that shows that while it is filled in. */
import { parseHostname } from '../../core/names/hostname.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { docsReading } from '../schemas/domain-examples.ts';
import { hostnameQuery, hostnameReading } from '../schemas/domains.ts';

/** Host names at or below the platform's domain are refused. */
export type HostnameRoutesDeps = { readonly platformDomain: string };

/** `GET /v1/hostname`. It refuses a name as adding a domain does, and asks neither the DNS nor the database. */
export function hostnameRoutes({ platformDomain }: HostnameRoutesDeps): readonly Route[] {
  return [
    route({
      tag: 'Domains',
      stability: 'experimental',
      method: 'GET',
      path: '/v1/hostname',
      scope: 'domains:read',
      operationId: 'readHostname',
      summary: 'Read a host name',
      description:
        'Cleans what was typed or pasted, and refuses it, as adding a domain does. Nothing is looked up, and nothing changes.',
      query: hostnameQuery,
      success: {
        status: 200,
        description: 'How it is read',
        schema: hostnameReading,
        example: docsReading,
      },
      refusals: ['invalid_hostname', 'wildcard_unsupported', 'platform_hostname', 'public_suffix'],
      handle: async ({ query }) => {
        const parsed = parseHostname(query.text, platformDomain);
        if (!parsed.ok) return refuse(parsed.code, parsed.reason);
        const { ascii, unicode, zone } = parsed.hostname;
        // Type and name of the record do not depend on the target, which only adding decides.
        const { type, name } = recordFor({ hostname: ascii, target: '' });
        return {
          status: 200,
          body: { hostname: ascii, unicodeHostname: unicode, zone, record: { type, name } },
        };
      },
    }),
  ];
}
