/** Diagnoses a host name that need not be attached to a project. */
import type { Access } from '../../core/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { findAttached } from '../../db/domains/domains.ts';
import {
  type ExaminedName,
  examine,
  parseExamined,
  parseTarget,
  reportOf,
} from '../../dns/examine.ts';
import { createKeyedCount, type KeyedCount } from '../../net/keyed-count.ts';
import type { Service } from '../../service/service.ts';
import { refuseBusy } from '../limits/account-limits.ts';
import { createTurns, lineOf } from '../limits/turns.ts';
import { type Refusal, refuse, refuseField } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { diagnosis, diagnosisQuery, docsDiagnosis } from '../schemas/diagnosis.ts';
import { hostnameQuery, hostnameReading } from '../schemas/domains.ts';
import { docsReading } from '../schemas/examples.ts';

/** Per process: one diagnosis takes up to 32 DNS queries and 7 s, behind a proxy or with `reach` 12 s. */
const AT_ONCE_MAX = 10;
/** With those that wait for their account's turn. */
const WAITING_MAX = 5 * AT_ONCE_MAX;
const RETRY_AFTER_SECONDS = '2';

export function diagnosisRoute(service: Service): Route {
  const { caaAuthorities, config, observer } = service;
  const { allowPrivate } = config.dns;
  const parts = { observer, authorities: caaAuthorities, allowPrivate };
  const underWay = createKeyedCount({ total: WAITING_MAX, perKey: AT_ONCE_MAX });
  const turns = createTurns({
    places: AT_ONCE_MAX,
    placesWhenShared: AT_ONCE_MAX / 2,
    restMsMax: 0,
  });
  return route({
    at: 'GET /v1/diagnosis/:hostname',
    scope: 'domains:read',
    tag: 'Domains',
    stability: 'beta',
    operationId: 'diagnoseHostname',
    summary: 'Diagnose a host name',
    description:
      'Checks the DNS of any host name, attached or not. Returns the findings and the answers of every name server. Stores nothing. Takes up to 7 seconds (up to 12 behind a proxy, or with `reach=true`), for HEAD requests too. Responses are not cacheable.',
    momentary: true,
    waitsForOthers: true,
    success: success(200, 'Findings and the DNS answers behind them', diagnosis, docsDiagnosis),
    refusals: [
      'invalid_hostname',
      'wildcard_unsupported',
      'platform_hostname',
      'public_suffix',
      'too_many_at_once',
      'too_many_diagnoses',
    ],
    query: diagnosisQuery,
    handle: async ({ access, params, query }) => {
      const asked = await askedFor(service, access, params.hostname, query.target);
      if ('status' in asked) return asked;
      const { name, domainId } = asked;
      // Checked last, so that an invalid name gets its own error.
      const leave = admit(underWay, access);
      if (typeof leave !== 'function') return leave;
      const leavePlace = await turns.take(lineOf(access));
      try {
        const [examined, reach] = await Promise.all([
          examine(parts, name),
          query.reach === 'true' ? service.examineReach(name.hostname, domainId) : null,
        ]);
        const body = { ...reportOf(examined), ...(reach && { reach }) };
        return { status: 200, body, headers: { 'cache-control': 'no-store' } };
      } finally {
        leavePlace();
        leave();
      }
    },
  });
}

/** The release function, or the limit that is reached. */
function admit(underWay: KeyedCount, access: Access): (() => void) | Refusal {
  const most = access.kind === 'account' ? access.limits.diagnoses : null;
  const admitted = underWay.admit(lineOf(access), most ?? AT_ONCE_MAX);
  if (typeof admitted === 'function') return admitted;
  return admitted === 'key' && most !== null
    ? refuseBusy('too_many_at_once', 'diagnoses', most, RETRY_AFTER_SECONDS)
    : refuse('too_many_diagnoses', undefined, { 'retry-after': RETRY_AFTER_SECONDS });
}

/** Parses the host name first. Without a target in the query, the name must be attached. */
async function askedFor(
  { config, database }: Service,
  access: Access,
  hostname: string,
  given: string | undefined,
): Promise<{ readonly name: ExaminedName; readonly domainId: string | null } | Refusal> {
  const parsed = parseExamined(hostname, config.platform.domain);
  if (!parsed.ok) return refuse(parsed.code, parsed.reason);
  const { ascii } = parsed.hostname;
  const named = given === undefined ? null : parseTarget(given, ascii);
  if (named?.ok === false) return refuseField('invalid_query', 'target', named.reason);
  const attached = await findAttached(database.prisma, access, ascii);
  const target = named?.target ?? attached?.target;
  return target === undefined
    ? refuseField(
        'invalid_query',
        'target',
        `is required because no project has ${ascii} attached`,
        'required',
      )
    : { name: { hostname: ascii, target }, domainId: attached?.id ?? null };
}

/** Refuses the same names as adding a domain, without DNS or database queries. */
export function hostnameRoute({ config }: Service): Route {
  return route({
    tag: 'Domains',
    stability: 'experimental',
    at: 'GET /v1/hostname',
    scope: 'domains:read',
    operationId: 'readHostname',
    summary: 'Parse a host name',
    description:
      'Parses typed or pasted text and refuses it for the same reasons as adding a domain does. No lookups, no changes.',
    query: hostnameQuery,
    success: success(200, 'The parsed host name', hostnameReading, docsReading),
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
