/** What every part of the list of changes needs to know about the host name. */
import type { DomainStatus } from '../../life/lifecycle.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../../names/instructions.ts';
import { splitAtZone } from '../../names/zone.ts';
import { actorOf, explain, type Finding, type FindingCode, type FindingOf } from '../findings.ts';
import type { HintCode } from '../hints.ts';
import { zoneServers } from '../input.ts';
import { type Observation, recordsOf } from '../observation.ts';
import { type Provider, providerOf } from '../providers.ts';
import { ownAddresses } from '../server-pointing.ts';
import { type NamedServer, namedServers } from './spread.ts';

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
