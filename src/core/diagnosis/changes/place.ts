/** What every part of the list of changes needs to know about the host name. */
import type { DomainStatus } from '../../life/lifecycle.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../../names/instructions.ts';
import { splitAtZone } from '../../names/zone.ts';
import { actorOf, explain, type Finding, type FindingCode, type FindingOf } from '../findings.ts';
import type { HintCode } from '../hints.ts';
import { zoneServers } from '../input.ts';
import { type Observation, recordsOf, type ServerView } from '../observation.ts';
import { type Provider, providerOf } from '../providers.ts';
import { isUnasked, ownAddresses, speaksForZone } from '../server-pointing.ts';
import { showing } from '../shows.ts';
import { foreign, foreignName } from '../words.ts';
import type { ChangeState, DnsChange, ServerChange } from './change.ts';

export type ChangesInput = {
  readonly hostname: string;
  readonly target: string;
  /** Null: not checked yet. */
  readonly observation: Observation | null;
  /** Of that observation. */
  readonly findings: readonly Finding[];
  /** Missing: not attached. A verified or live domain had the right record at an earlier check. */
  readonly status?: DomainStatus;
};

export type ChangePlace = ChangesInput & {
  readonly record: DnsRecord;
  readonly zone: string;
  readonly provider: Provider | null;
  /** Empty if there is no zone yet to ask. */
  readonly servers: readonly NamedServer[];
  readonly isOwn: (address: string) => boolean;
  readonly ourAddresses: readonly string[];
};

export function changePlaceOf(input: ChangesInput): ChangePlace {
  const { hostname, target, observation, findings } = input;
  const below = observation === null ? undefined : zoneBelow(observation);
  const ourAddresses = observation?.targetAddresses ?? [];
  const hasZone = !findings.some(({ code }) => withoutZone.has(code));
  return {
    ...input,
    record: recordFor({ hostname, target, ...(below !== undefined && { zone: below }) }),
    zone: below ?? splitAtZone(hostname).zone,
    provider: observation === null ? null : providerOf(zoneServers(observation)),
    servers: hasZone ? namedServers(observation) : [],
    isOwn: ownAddresses(ourAddresses),
    ourAddresses,
  };
}

/** Until the domain has its own name servers, other servers answer for it. */
const withoutZone: ReadonlySet<FindingCode> = new Set([
  'domain_unregistered',
  'no_name_servers',
  'domain_parked',
]);

export function findingOf<C extends FindingCode>(
  { findings }: Pick<ChangePlace, 'findings'>,
  code: C,
): FindingOf<C> | undefined {
  return findings.find((finding): finding is FindingOf<C> => finding.code === code);
}

/** The text of each hint about the record. */
export function hintsAbout({ findings }: ChangePlace): ReadonlyMap<HintCode, string> {
  const aboutRecord = findings.filter(({ code }) => recordCodes.has(code));
  const hints = aboutRecord.flatMap((finding) => explain(finding).hints);
  // Hints of CAA findings have other codes.
  return new Map(hints.map(({ code, text }) => [code as HintCode, text]));
}

/** One server has every change, and those of the same provider copy it. */
export function isCopied({ findings, status }: ChangesInput): boolean {
  if (status === 'live') return false;
  return findings.some(
    (finding) => finding.code === 'name_servers_disagree' && actorOf(finding) === 'dns_provider',
  );
}

export function wasRight({ status }: ChangesInput): boolean {
  return status === 'live' || status === 'verified';
}

/** Whether servers without the change need an edit by hand, because no provider copies it to them. */
export function isNotComing({ findings, status }: ChangesInput): boolean {
  const isSeveralProviders = findings.some(
    (finding) => finding.code === 'name_servers_disagree' && actorOf(finding) === 'customer',
  );
  return status === 'live' || isSeveralProviders;
}

/** Records that a random sibling has, too: those of a wildcard, which stays. */
export function isOfWildcard({ observation }: ChangePlace, value: string): boolean {
  const sibling = observation?.nearby.sibling ?? null;
  if (sibling === null) return false;
  return [...recordsOf(sibling.a), ...recordsOf(sibling.cname)].includes(value);
}

const recordCodes: ReadonlySet<FindingCode> = new Set([
  'record_missing',
  'cname_mismatch',
  'cname_loop',
  'cname_at_apex',
  'conflicting_a',
  'conflicting_aaaa',
  'apex_elsewhere',
]);

/** A proxy of the zone's own provider hides the record, so its addresses are not records. */
export function isProxied(place: ChangePlace): boolean {
  const { findings } = place;
  const hasOthers = findings.some(
    ({ code }) =>
      code === 'conflicting_a' || code === 'conflicting_aaaa' || code === 'apex_elsewhere',
  );
  return findings.some(({ code }) => code === 'proxied') && !hasOthers;
}

// The progress of a change, server by server.

/** All addresses of one name server. */
type NamedServer = { readonly name: string; readonly views: readonly ServerView[] };

/** Servers that were not queried are left out, unless none was. */
function namedServers(observation: Observation | null): readonly NamedServer[] {
  const views = observation?.servers ?? [];
  const asked = views.filter(({ state }) => !isUnasked(state));
  const chosen = asked.length > 0 ? asked : views;
  const names = [...new Set(chosen.map(({ server }) => server))];
  return names.map((name) => ({ name, views: chosen.filter(({ server }) => server === name) }));
}

/** The answers that count. */
export function answersOf<A>(
  servers: readonly NamedServer[],
  answerOf: (view: ServerView) => A,
): readonly A[] {
  const views = servers.flatMap((server) => server.views);
  return views.filter(({ state }) => speaksForZone(state)).map(answerOf);
}

/** Whether one view has the change. Null: its answers do not say. */
export type HasChange = (view: ServerView) => boolean | null;

/** One address without the change is enough to keep a server behind: resolvers can query any. */
export function spread(
  servers: readonly NamedServer[],
  has: HasChange,
): Pick<DnsChange, 'state' | 'servers'> {
  const said = servers.map(({ views }) =>
    views.map((view) => (speaksForZone(view.state) ? has(view) : null)),
  );
  const shown = servers.map(({ name, views }, at): ServerChange => {
    const own = said[at] ?? [];
    const decisive = views[own.indexOf(false)] ?? views[own.indexOf(true)] ?? views[0];
    return {
      name: foreign(name),
      state: stateAt(own),
      shows: decisive === undefined ? '' : foreignName(showing(decisive)),
    };
  });
  const states = said.flat().map((one) => ({ state: stateAt([one]) }));
  return { state: stateOf(states), servers: shown };
}

function stateAt(said: readonly (boolean | null)[]): ServerChange['state'] {
  if (said.includes(false)) return 'to_do';
  return said.includes(true) ? 'done' : 'unknown';
}

/** Servers without a usable answer do not count. */
export function stateOf(servers: readonly Pick<ServerChange, 'state'>[]): ChangeState {
  const known = servers.filter(({ state }) => state !== 'unknown');
  if (known.length === 0) return 'unknown';
  if (known.every(({ state }) => state === 'done')) return 'done';
  return known.some(({ state }) => state === 'done') ? 'spreading' : 'to_do';
}
