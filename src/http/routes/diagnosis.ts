/** The doctor: what the DNS shows at a host name just now, and what is wrong with it. Nothing is stored. */
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
