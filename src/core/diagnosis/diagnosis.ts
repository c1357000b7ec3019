/** What an observation means: the verdict that moves a domain, and everything worth saying about it. */
import { type CaaVerdict, judgeCaa } from '../caa/caa.ts';
import type { CaaAuthority } from '../caa/caa-set.ts';
import { recordToAdd } from '../caa/caa-value.ts';
import { recordFor } from '../instructions.ts';
import type { Verdict } from '../lifecycle.ts';
import type { Observation } from '../observation.ts';
import { type Finding, type FindingCode, severities } from './findings.ts';
import { ownAddresses, type Pointing, pointingOf, pointingOfAll } from './pointing.ts';

/** What the look is measured against. */
export type Expected = {
  readonly hostname: string;
  readonly target: string;
  readonly ca: CaaAuthority;
};

/**
 * `findings[0]` is the headline: the first one that blocks, where any does. A verdict other than `right` always has
 * one: nobody waits without being told what for.
 */
export type Diagnosis = { readonly verdict: Verdict; readonly findings: readonly Finding[] };

/** Judges one look at a host name. Pure; never throws. */
export function diagnose(observation: Observation, expected: Expected): Diagnosis {
  const look = prepare(observation, expected);
  const findings = checks.flatMap((check) => check(look) ?? []);
  const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
  const others = findings.filter(({ code }) => severities[code] !== 'blocks');
  return { verdict: verdictOf(look, findings), findings: [...blocking, ...others] };
}

/** Everything the checks look at, worked out once. */
type Look = {
  readonly expected: Expected;
  readonly servers: readonly { readonly server: string; readonly pointing: Pointing }[];
  readonly isOwn: (address: string) => boolean;
  readonly pointing: Verdict;
  /** Null while the pointing is not right. */
  readonly caa: CaaVerdict | null;
};

type Check = (look: Look) => Finding | undefined;

/** In the order in which a customer would mend things. A new finding is one more check here. */
const checks: readonly Check[] = [
  (look) => conflicting('conflicting_a', look),
  (look) => conflicting('conflicting_aaaa', look),
  cnameMismatch,
  recordMissing,
  caaBlocks,
  caaUnknown,
  dnsUnknown,
];

/** What a finding does to the verdict; null: nothing. */
const bearings: { readonly [C in FindingCode]: 'wrong' | 'unknown' | null } = {
  record_missing: 'wrong',
  cname_mismatch: 'wrong',
  conflicting_a: 'wrong',
  conflicting_aaaa: 'wrong',
  caa_blocks: 'wrong',
  held_elsewhere: 'wrong',
  // A refusal to the authority, but not something a zone said: nothing is taken back for it.
  caa_unknown: 'unknown',
  dns_unknown: 'unknown',
};

function verdictOf({ pointing }: Look, findings: readonly Finding[]): Verdict {
  const borne = findings.map(({ code }) => bearings[code]);
  if (borne.includes('wrong')) return 'wrong';
  return pointing === 'right' && !borne.includes('unknown') ? 'right' : 'unknown';
}

function prepare(observation: Observation, expected: Expected): Look {
  const record = recordFor(expected);
  const { targetAddresses } = observation;
  const servers = observation.servers.map((view) => ({
    server: view.server,
    pointing: pointingOf(view, record, targetAddresses),
  }));
  const pointing = pointingOfAll(servers.map((server) => server.pointing));
  const caa = pointing === 'right' ? climbVerdict(observation, expected.ca) : null;
  return { expected, servers, isOwn: ownAddresses(targetAddresses), pointing, caa };
}

/** A climb that was not made cannot tell: it may have ended at a set that forbids. No answer came, so: a timeout. */
function climbVerdict({ hostname, caa }: Observation, ca: CaaAuthority): CaaVerdict {
  return caa === null || caa.length === 0
    ? { kind: 'unknown', name: hostname, outcome: 'timeout' }
    : judgeCaa(caa, ca, { wildcard: false });
}

function conflicting(
  code: 'conflicting_a' | 'conflicting_aaaa',
  { servers, expected: { hostname, target }, isOwn }: Look,
): Finding | undefined {
  const addresses = servers.flatMap(({ pointing }) => {
    if (pointing.kind !== 'elsewhere') return [];
    return code === 'conflicting_a' ? pointing.a : pointing.aaaa;
  });
  if (addresses.length === 0) return undefined;
  // Sorted, so that servers that rotate their answers do not make a new finding of the same records.
  const all = [...new Set(addresses)].sort();
  return { code, hostname, target, addresses: all, ours: all.filter(isOwn) };
}

function cnameMismatch({ servers, expected: { hostname, target } }: Look): Finding | undefined {
  const [found] = servers
    .flatMap(({ pointing }) => (pointing.kind === 'elsewhere' ? (pointing.cname ?? []) : []))
    .sort();
  return found === undefined ? undefined : { code: 'cname_mismatch', hostname, target, found };
}

function recordMissing({ servers, expected: { hostname, target } }: Look): Finding | undefined {
  const seen = new Set(
    servers.flatMap(({ pointing }) => (pointing.kind === 'missing' ? pointing.seen : [])),
  );
  if (seen.size === 0) return undefined;
  return {
    code: 'record_missing',
    hostname,
    target,
    // One server that knows the name is enough for it to exist.
    seen: seen.has('nodata') ? 'nodata' : 'nxdomain',
  };
}

function caaBlocks({ expected: { hostname, ca }, caa }: Look): Finding | undefined {
  if (caa?.kind !== 'deny') return undefined;
  const { foundAt, records, toRemove } = caa;
  return {
    code: 'caa_blocks',
    hostname,
    foundAt,
    records,
    toAdd: recordToAdd(ca.issuerDomains[0]),
    ...(toRemove.length === 0 ? {} : { toRemove }),
  };
}

function caaUnknown({ expected: { hostname }, caa }: Look): Finding | undefined {
  if (caa?.kind !== 'unknown') return undefined;
  return { code: 'caa_unknown', hostname, name: caa.name, outcome: caa.outcome };
}

/** Where no server could tell. Without servers, it is the platform's own target that we could not look up. */
function dnsUnknown({
  pointing,
  servers,
  expected: { hostname, target },
}: Look): Finding | undefined {
  if (pointing !== 'unknown') return undefined;
  const silent = servers.flatMap(({ server, pointing: shown }) =>
    shown.kind === 'unknown' ? { server, outcome: shown.outcome } : [],
  );
  const aboutTarget = servers.some((server) => server.pointing.kind === 'incomparable');
  return {
    code: 'dns_unknown',
    hostname: aboutTarget ? target : hostname,
    servers: aboutTarget ? [] : silent.sort((a, b) => (a.server < b.server ? -1 : 1)),
  };
}
