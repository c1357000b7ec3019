/** A host name that need not be attached: how it is read, and what its DNS says. */

import type { ReachReport } from '../../certificates/reach/reach.ts';
import type { Access } from '../../core/accounts/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { SECOND } from '../../core/time.ts';
import {
  type Asked,
  type Examine,
  parseExamined,
  parseTarget,
  reportOf,
} from '../../dns/examine.ts';
import { createKeyedCount, type KeyedCount } from '../../net/keyed-count.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import { type ApiKeyIdentity, type Route, route } from '../pipeline/route.ts';
import { diagnosis, diagnosisQuery, docsDiagnosis } from '../schemas/diagnosis.ts';
import { hostnameQuery, hostnameReading } from '../schemas/domains.ts';
import { docsReading } from '../schemas/examples.ts';
import { refuseLimit } from './account-limits.ts';

/** What a diagnosis is made with. */
export type DiagnosisRoutesDeps = {
  /** Host names at or below it are refused: they are ours. */
  readonly platformDomain: string;
  /** One check, 7 s at most; it never rejects for what the network does. */
  readonly examine: Examine;
  /** What stands at the name's addresses, and how the authorities are; 10 s at most, and it never rejects for what the network does. */
  readonly examineReach: (access: Access, hostname: string) => Promise<ReachReport>;
  /** The target of the domain with this host name (A-labels, lower case); null where no project that is reached has it. */
  targetOf(access: Access, hostname: string): Promise<string | null>;
  readonly diagnoses: Diagnoses;
  now(): Date;
};

/** The diagnoses of one process that are under way. */
export type Diagnoses = KeyedCount;

/** To be shared by what makes diagnoses and what shows how many there are. */
export function countDiagnoses(): Diagnoses {
  return createKeyedCount({ total: AT_ONCE_MAX, perKey: Number.POSITIVE_INFINITY });
}

/** Our choice, for each process: one takes up to 32 questions and 7 s, and nobody reads more than a few at a time. */
const AT_ONCE_MAX = 10;
const RETRY_AFTER_SECONDS = 2;

/** `GET /v1/diagnosis/{hostname}`. It stores nothing. */
export function diagnosisRoutes(deps: DiagnosisRoutesDeps): readonly Route[] {
  return [diagnoseHostname(deps)];
}

/** Refuses what is more than AT_ONCE_MAX at a time, or more than its account may, before any question is sent. */
function diagnoseHostname(deps: DiagnosisRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/v1/diagnosis/:hostname',
    scope: 'domains:read',
    tag: 'Domains',
    stability: 'beta',
    operationId: 'diagnoseHostname',
    summary: 'Diagnose a host name',
    description:
      'Checks the DNS of any host name, attached or not, and says what is wrong: the findings in words, and what every name server shows. Stores nothing. Takes up to 7 seconds, 10 with `reach=true`, for a HEAD too, and is never to be kept.',
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
      'account_busy',
      'too_many_diagnoses',
    ],
    query: diagnosisQuery,
    handle: async ({ key, params, query }) => {
      const asked = await askedFor(deps, key.access, params.hostname, query.target);
      if ('status' in asked) return asked;
      // Last of the refusals, so that a name that cannot be checked is refused for what it is.
      const left = begin(deps, key);
      if (typeof left !== 'function') return left;
      try {
        const [examined, reach] = await Promise.all([
          deps.examine(asked),
          query.reach === 'true' ? deps.examineReach(key.access, asked.hostname) : undefined,
        ]);
        const body = { ...reportOf(examined), ...(reach && { reach }) };
        return { status: 200, body, headers: { 'cache-control': 'no-store' } };
      } finally {
        left();
      }
    },
  });
}

/** Counts one more, and returns what counts it out again; or the refusal of the account, or of the process. */
function begin(
  { diagnoses, now }: DiagnosisRoutesDeps,
  { id, access, limits }: ApiKeyIdentity,
): (() => void) | Refusal {
  const most = limits?.diagnoses ?? Number.POSITIVE_INFINITY;
  const whose = access.kind === 'account' ? access.accountId : id;
  const begun = diagnoses.admit(whose, most);
  if (begun === 'total') {
    const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
    return refuse('too_many_diagnoses', undefined, headers);
  }
  if (begun !== 'key') return begun;
  const until = new Date(now().getTime() + RETRY_AFTER_SECONDS * SECOND);
  return refuseLimit({ limit: 'diagnoses', used: diagnoses.of(whose), most, until }, now());
}

/**
 * Both names in the form of the DNS, or the refusal of one; the host name is read first. Without a target in the query, the
 * name must be attached to a project.
 */
async function askedFor(
  { platformDomain, targetOf }: DiagnosisRoutesDeps,
  access: Access,
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
  const target = await targetOf(access, ascii);
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
