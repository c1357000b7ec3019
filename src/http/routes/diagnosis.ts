/** A host name that need not be attached: how it is read, and what its DNS says. */

import { parseHostname } from '../../core/names/hostname.ts';
import { recordFor } from '../../core/names/instructions.ts';
import {
  type Asked,
  type Examine,
  parseExamined,
  parseTarget,
  reportOf,
} from '../../dns/examine.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { diagnosis, diagnosisQuery, docsDiagnosis } from '../schemas/diagnosis.ts';
import { hostnameQuery, hostnameReading } from '../schemas/domains.ts';
import { docsReading } from '../schemas/examples.ts';

/** What a diagnosis is made with. */
export type DiagnosisRoutesDeps = {
  /** Host names at or below it are refused: they are ours. */
  readonly platformDomain: string;
  /** One check, 7 s at most; it never rejects for what the network does. */
  readonly examine: Examine;
  /** The target of the domain with this host name (A-labels, lower case), whichever project has it; null where none has. */
  targetOf(hostname: string): Promise<string | null>;
};

/** Our choice, for each process: one takes up to 32 questions and 7 s, and nobody reads more than a few at a time. */
const AT_ONCE_MAX = 10;
const RETRY_AFTER_SECONDS = '2';

/** `GET /v1/diagnosis/{hostname}`. It stores nothing. */
export function diagnosisRoutes(deps: DiagnosisRoutesDeps): readonly Route[] {
  return [diagnoseHostname(deps)];
}

/** Refuses with 503 what is more than AT_ONCE_MAX at a time, before any question is sent. */
function diagnoseHostname(deps: DiagnosisRoutesDeps): Route {
  let underWay = 0;
  return route({
    method: 'GET',
    path: '/v1/diagnosis/:hostname',
    scope: 'domains:read',
    tag: 'Domains',
    stability: 'beta',
    operationId: 'diagnoseHostname',
    summary: 'Diagnose a host name',
    description:
      'Checks the DNS of any host name, attached or not, and says what is wrong: the findings in words, and what every name server shows. Stores nothing. Takes up to 7 seconds, for a HEAD too, and is never to be kept.',
    momentary: true,
    success: {
      status: 200,
      description: 'What was seen, and what it means',
      schema: diagnosis,
      example: docsDiagnosis,
    },
    refusals: [
      'invalid_hostname',
      'wildcard_unsupported',
      'platform_hostname',
      'public_suffix',
      'too_many_diagnoses',
    ],
    query: diagnosisQuery,
    handle: async ({ params, query }) => {
      const asked = await askedFor(deps, params.hostname, query.target);
      if ('status' in asked) return asked;
      // Last of the refusals, so that a name that cannot be checked is refused for what it is.
      if (underWay >= AT_ONCE_MAX) {
        return refuse('too_many_diagnoses', undefined, { 'retry-after': RETRY_AFTER_SECONDS });
      }
      underWay += 1;
      try {
        const body = reportOf(await deps.examine(asked));
        return { status: 200, body, headers: { 'cache-control': 'no-store' } };
      } finally {
        underWay -= 1;
      }
    },
  });
}

/**
 * Both names in the form of the DNS, or the refusal of one; the host name is read first. Without a target in the query, the
 * name must be attached to a project.
 */
async function askedFor(
  { platformDomain, targetOf }: DiagnosisRoutesDeps,
  hostname: string,
  given: string | undefined,
): Promise<Asked | Refusal> {
  const parsed = parseExamined(hostname, platformDomain);
  if (!parsed.ok) return refuse(parsed.code, parsed.reason);
  const { ascii } = parsed.hostname;
  if (given !== undefined) {
    const named = parseTarget(given, ascii);
    return named.ok
      ? { hostname: ascii, target: named.target }
      : refuse('invalid_query', `target: ${named.reason}`);
  }
  const target = await targetOf(ascii);
  return target === null
    ? refuse('invalid_query', `target: is needed, because no project has ${ascii} attached`)
    : { hostname: ascii, target };
}

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
