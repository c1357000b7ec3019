/** Checks a host name once, without storing anything. */

import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import { changesFor } from '../core/diagnosis/changes/changes.ts';
import type { Diagnosis } from '../core/diagnosis/diagnosis.ts';
import { diagnoseForAny } from '../core/diagnosis/diagnosis.ts';
import { explain } from '../core/diagnosis/findings.ts';
import type { Observation } from '../core/diagnosis/observation.ts';
import { linksOf } from '../core/diagnosis/provider-forms.ts';
import { type HostnameResult, NAME_OCTETS_MAX, parseHostname } from '../core/names/hostname.ts';
import { hostInPasted, toAsciiName, toUnicodeName } from '../core/names/idna.ts';
import { type DnsRecord, recordFor, zoneBelow } from '../core/names/instructions.ts';
import { printable } from '../core/names/printable.ts';
import { splitAtZone, suffixOf } from '../core/names/zone.ts';
import type { Observer } from './observe/observe.ts';

/** A-labels, lower case, no trailing dot. */
export type ExaminedName = { readonly hostname: string; readonly target: string };

export type Examined = ExaminedName & {
  readonly observation: Observation;
  readonly diagnosis: Diagnosis;
  /** Relative to the zone that was found. */
  readonly record: DnsRecord;
};

type ExamineParts = {
  readonly observer: Pick<Observer, 'observe'>;
  /** Called after the observation; the first choice first. */
  readonly authorities: () => Promise<readonly CaaAuthority[]>;
  /** Whether private addresses are allowed (test labs). */
  readonly allowPrivate: boolean;
};

/** Takes at most 7 s (`defaultLimits`). Network failures do not reject it. */
export async function examine(
  { observer, authorities, allowPrivate }: ExamineParts,
  { hostname, target }: ExaminedName,
): Promise<Examined> {
  // An apex cannot have a CNAME, so it is diagnosed by the target's addresses.
  const { apex } = splitAtZone(hostname);
  const observation = await observer.observe({ hostname, target, apex });
  const expected = { hostname, target, authorities: await authorities(), allowPrivate };
  const diagnosis = diagnoseForAny(observation, expected);
  const zone = zoneBelow(observation);
  const record = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  return { hostname, target, observation, diagnosis, record };
}

/** Like adding a domain, with a different error for wildcards. Never throws. */
export function parseExamined(text: string, platformDomain: string): HostnameResult {
  const parsed = parseHostname(text, platformDomain);
  if (parsed.ok || parsed.code !== 'wildcard_unsupported') return parsed;
  const reason = 'Wildcards can’t be checked. Enter one host name without “*”.';
  return { ...parsed, reason };
}

/** `target`: A-labels, lower case, no trailing dot. `reason`: a sentence for people. */
export type TargetResult =
  | { readonly ok: true; readonly target: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Can be in any zone, including a test lab's. Refuses IP addresses (RFC 1035, 3.3.1), public
 * suffixes and `hostname` itself. Never throws.
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
  // A numeric last label makes the name an IPv4 address in some notation (WHATWG URL, 3.5).
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(ascii)) {
    return refused(`“${printable(ascii, 80)}” is an IP address or a number. Enter a host name.`);
  }
  const reason = reasonAgainstPlace(ascii, hostname);
  return reason === undefined ? { ok: true, target: ascii } : refused(reason);
}

function reasonAgainstPlace(ascii: string, hostname: string): string | undefined {
  if (!ascii.includes('.')) return `“${ascii}” is a single label. Enter the full name.`;
  if (ascii === hostname) {
    return `“${ascii}” is the host name itself, which cannot point to itself. Enter the name that it must point to.`;
  }
  return suffixOf(ascii).kind === 'public_suffix'
    ? `“${ascii}” is a public suffix and cannot be a target. Enter a name below it.`
    : undefined;
}

function refused(reason: string): TargetResult {
  return { ok: false, reason };
}

/** The Diagnosis of docs/integrate/diagnosis.md; its schema is in src/http/schemas/diagnosis.ts. */
export function reportOf({ hostname, target, observation, diagnosis, record }: Examined) {
  const { findings, provider } = diagnosis;
  const zone = zoneBelow(observation) ?? splitAtZone(hostname).zone;
  return {
    hostname,
    unicodeHostname: toUnicodeName(hostname),
    target,
    verdict: diagnosis.verdict,
    record,
    provider: provider === null ? null : { ...provider, ...linksOf(provider, zone) },
    changes: changesFor({ hostname, target, observation, findings }),
    findings: findings.map(explain),
    observation: seenIn(observation),
  };
}

/** Omits the host name, which is at the top level, and data used only for hints. */
function seenIn({ hostname: _, nearby: __, ...seen }: Observation) {
  return seen;
}
