/** One check of a host name and what it means, without storing anything: observe → diagnose. */
import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import type { Diagnosis } from '../core/diagnosis/diagnosis.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnosis.ts';
import { explain } from '../core/diagnosis/findings.ts';
import type { Observation } from '../core/diagnosis/observation.ts';
import { type HostnameResult, parseHostname } from '../core/names/hostname.ts';
import { hostInPasted, toAsciiName, toUnicodeName } from '../core/names/idna.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../core/names/instructions.ts';
import { printable } from '../core/names/printable.ts';
import { splitAtZone, suffixOf } from '../core/names/zone.ts';
import type { Observer } from './observe/observe.ts';

/** Both are names in the form of the DNS: A-labels, lower case, no trailing dot. */
export type Asked = { readonly hostname: string; readonly target: string };

/**
 * One check of a host name, made for whoever asks and stored nowhere: what was seen, what it means, and the record to
 * create.
 */
export type Examined = Asked & {
  readonly observation: Observation;
  readonly diagnosis: Diagnosis;
  /** The record that the host name needs, worded for the zone that the observation found it in. */
  readonly record: DnsRecord;
};

/** Takes as long as a check, 7 s at most (`defaultLimits`). Never rejects for what the network does. */
export type Examine = (asked: Asked) => Promise<Examined>;

/** What an examination needs. `authorities` is called once for each examination, after the observation. */
export type ExamineDeps = {
  readonly observer: Pick<Observer, 'observe'>;
  /** The authorities that would issue, as CAA records name them, the first choice first. */
  readonly authorities: () => Promise<readonly CaaAuthority[]>;
  /** Whether private addresses are as good as others (laboratories). */
  readonly allowPrivate: boolean;
};

/** Examines a host name by the same observation and the same diagnosis as a check of an attached domain. Stores nothing. */
export function createExamine({ observer, allowPrivate, ...deps }: ExamineDeps): Examine {
  return async ({ hostname, target }) => {
    // An apex takes no CNAME, so it is diagnosed by the addresses of the target instead.
    const { apex } = splitAtZone(hostname);
    const observation = await observer.observe({ hostname, target, apex });
    const authorities = await deps.authorities();
    const expected = { hostname, target, authorities, allowPrivate, isClaim: false };
    const diagnosis = diagnoseForAny(observation, expected);
    const zone = zoneBelow(observation);
    const record = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
    return { hostname, target, observation, diagnosis, record };
  };
}

/** Parses a host name as for adding a domain; only the reason against a wildcard is worded for a check. Never throws. */
export function parseExamined(text: string, platformDomain: string): HostnameResult {
  const parsed = parseHostname(text, platformDomain);
  if (parsed.ok || parsed.code !== 'wildcard_unsupported') return parsed;
  const reason = 'Wildcards can’t be checked; please give one host name, without “*”.';
  return { ...parsed, reason };
}

/** The target as A-labels in lower case without a trailing dot, or one sentence for a person on why it is none. */
export type TargetResult =
  | { readonly ok: true; readonly target: string }
  | { readonly ok: false; readonly reason: string };

/** RFC 1035, 2.3.4, less the root's empty label and the first length octet. */
const NAME_OCTETS_MAX = 253;

/**
 * Reads a target as it is pasted, and gives it as A-labels in lower case without a trailing dot. It may lie anywhere, in
 * a laboratory's zone too; an address is refused, for no CNAME can point to one (RFC 1035, 3.3.1), and so is what could
 * never be right: `hostname` itself (A-labels, lower case) and a public suffix. Never throws.
 */
export function parseTarget(text: string, hostname: string): TargetResult {
  const pasted = hostInPasted(text);
  if (!pasted.ok) return pasted;
  const name = toAsciiName(pasted.host);
  if (!name.ok) return name;
  const { ascii } = name;
  if (ascii.length > NAME_OCTETS_MAX) {
    return refused(`The name takes ${ascii.length} octets; the DNS allows ${NAME_OCTETS_MAX}.`);
  }
  // A last label that is a number makes the whole an IPv4 address in some notation (WHATWG URL, 3.5).
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(ascii)) {
    return refused(
      `“${printable(ascii, 80)}” is an IP address or a number; please give a host name.`,
    );
  }
  const reason = reasonAgainstPlace(ascii, hostname);
  return reason === undefined ? { ok: true, target: ascii } : refused(reason);
}

/** Why a sound name can be no target; undefined where it can. */
function reasonAgainstPlace(ascii: string, hostname: string): string | undefined {
  if (!ascii.includes('.')) return `“${ascii}” is a single label; please give the full name.`;
  if (ascii === hostname) {
    return `“${ascii}” is the host name itself, which cannot point to itself; please give the name it must lead to.`;
  }
  return suffixOf(ascii).kind === 'public_suffix'
    ? `“${ascii}” is a public suffix, which nobody's record leads to; please give a name below it.`
    : undefined;
}

function refused(reason: string): TargetResult {
  return { ok: false, reason };
}

/** Returns the Diagnosis of docs/api.md as plain JSON; its schema is in src/http/schemas/diagnosis.ts. */
export function reportOf({ hostname, target, observation, diagnosis, record }: Examined) {
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    target,
    verdict: diagnosis.verdict,
    record,
    provider: providerOf(diagnosis.provider),
    findings: diagnosis.findings.map(explain),
    observation: seenIn(observation),
  };
}

function providerOf(provider: Examined['diagnosis']['provider']) {
  if (provider === null) return null;
  const { name, apex, where } = provider;
  return { name, apex, where };
}

/** Without the host name, which stands above, and what was asked for the hints alone, which the findings word. */
function seenIn({ hostname: _, nearby: __, ...seen }: Observation) {
  return seen;
}
