/** Likely mistakes behind a finding, derived from records at and around the host name. */
import { recordFor, zoneBelow } from '../names/instructions.ts';
import { printable } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { CaaHint } from './caa/caa-set.ts';
import { byText, type DiagnosisInput, ownZoneIn, unique } from './input.ts';
import { type NearbyName, recordsOf } from './observation.ts';
import { isSameName } from './server-pointing.ts';
import {
  deleteOwnZone,
  foreign,
  foreignName,
  lines,
  plainAnswerWords,
  type Wanted,
} from './words.ts';

export type Hint =
  /** Reaches the target through the names `via`, but the exact value is required. */
  | { readonly code: 'cname_indirect'; readonly via: readonly string[] }
  /** The provider added the zone to the full name. */
  | { readonly code: 'doubled_name'; readonly name: string }
  /** The record is at this name instead of the host name. */
  | { readonly code: 'wrong_host'; readonly name: string }
  /** `text`: at most 120 characters of the TXT record. */
  | { readonly code: 'txt_instead_of_cname'; readonly text: string }
  /** `wildcard`: `*.example.com`. */
  | { readonly code: 'wildcard_masks'; readonly wildcard: string }
  /** The wildcard points here, but does not apply: the name exists (RFC 4592, section 2.2.1). */
  | { readonly code: 'wildcard_stops'; readonly wildcard: string }
  /** The alias comes from a DNAME record, which redirects every name below `owner`. */
  | { readonly code: 'dname_above'; readonly owner: string; readonly to: string }
  /** The domain of this `www` name points here already. */
  | { readonly code: 'apex_points_here'; readonly apex: string }
  /** The host name is a separate zone below `parent`. */
  | { readonly code: 'own_zone'; readonly parent: string }
  /** The host name is in a zone below `parent`, where its records are ignored. */
  | { readonly code: 'separate_zone'; readonly zone: string; readonly parent: string }
  /** The servers have the record, but only for queries in lower case without EDNS. */
  | { readonly code: 'plain_answer' }
  | TargetSlip;

export type HintCode = Hint['code'];

const TXT_MAX = 120;

export function hinted(hints: readonly Hint[]): { readonly hints?: readonly Hint[] } {
  return hints.length === 0 ? {} : { hints };
}

export function hintsForMissing(
  input: DiagnosisInput,
  seen: 'nxdomain' | 'nodata',
): readonly Hint[] {
  const { nearby } = input.observation;
  const { target } = input.expected;
  const leadsToTarget = ({ cname }: NearbyName) =>
    recordsOf(cname).some((alias) => isSameName(alias, target));
  const doubled = nearby.doubled !== null && leadsToTarget(nearby.doubled) ? nearby.doubled : null;
  const text = targetInTexts(input);
  const isOwn = doubled !== null && doubled.wildcard !== true;
  return [
    ...wildcardStops(input, seen, doubled),
    ...(isOwn ? [{ code: 'doubled_name', name: doubled.name } as const] : []),
    ...nearby.wrongHosts
      .filter(leadsToTarget)
      .map(({ name, wildcard }) => (wildcard === true ? wildcardFor(name) : name))
      .map((name) => ({ code: 'wrong_host', name }) as const)
      .sort(byText(({ name }) => name)),
    ...(text === undefined ? [] : [{ code: 'txt_instead_of_cname', text } as const]),
    ...wildcardHint(input, isBareWildcard(input, seen)),
    ...apexHint(input),
    ...ownZoneHint(input),
    ...separateZone(input),
    ...(input.observation.plainAnswer ? [{ code: 'plain_answer' } as const] : []),
  ];
}

/** A customer who does not know of the zone edits the one above. */
function separateZone({ observation }: DiagnosisInput): readonly Hint[] {
  const { delegation, hostname } = observation;
  const zone = zoneBelow(observation);
  if (delegation?.kind !== 'delegated' || zone === undefined || zone === hostname) return [];
  return [{ code: 'separate_zone', zone, parent: delegation.parent }];
}

/** A CNAME becomes possible without the host name's own zone. */
export function ownZoneHint(input: DiagnosisInput): readonly Hint[] {
  const { ownZone } = ownZoneIn(input);
  return ownZone === undefined ? [] : [{ code: 'own_zone', parent: ownZone.parent }];
}

/** Its owner can think that `www` is covered. */
function apexHint({ observation, zone, isOwn }: DiagnosisInput): readonly Hint[] {
  const apex = observation.nearby.wrongHosts.find(({ name }) => name === zone);
  const addresses = recordsOf(apex?.a ?? null);
  const pointsHere = addresses.length > 0 && addresses.every(isOwn);
  return pointsHere ? [{ code: 'apex_points_here', apex: zone }] : [];
}

/** Seen at a random sibling, or if only the zone has the wildcard, beside the doubled name. */
function wildcardStops(
  { observation: { nearby }, expected: { hostname, target } }: DiagnosisInput,
  seen: 'nxdomain' | 'nodata',
  doubled: NearbyName | null,
): readonly Hint[] {
  const beside = recordsOf(nearby.sibling?.cname ?? null).some((one) => isSameName(one, target));
  if (seen === 'nodata' && beside) {
    return [{ code: 'wildcard_stops', wildcard: wildcardFor(hostname) }];
  }
  return doubled?.wildcard === true
    ? [{ code: 'wildcard_stops', wildcard: `*.${doubled.name.slice(hostname.length + 1)}` }]
    : [];
}

export function hintsForAlias(input: DiagnosisInput, found: string): readonly Hint[] {
  const { hostname, target } = input.expected;
  const { chain, sibling, dname } = input.observation.nearby;
  // The name has no separate record that someone could have mistyped.
  if (dname !== undefined) return [{ code: 'dname_above', owner: dname.owner, to: dname.target }];
  const zones = unique([...zonesAbove(hostname, splitAtZone(hostname).zone), input.zone]);
  const indirect = chain?.end === 'target' && isChainOf(found, chain.names);
  const same = recordsOf(sibling?.cname ?? null).some((alias) => isSameName(alias, found));
  const slip = targetSlip(found, target, zones);
  return [
    ...(indirect
      ? [
          {
            code: 'cname_indirect',
            via: chain.names.filter((name) => !isSameName(name, target)),
          } as const,
        ]
      : []),
    ...(slip === null ? [] : [slip]),
    ...wildcardHint(input, same),
    ...separateZone(input),
  ];
}

/** The sibling is queried for A only. A name that has a CNAME gets nothing from a wildcard. */
export function hintsForAddresses(
  input: DiagnosisInput,
  addresses: readonly string[],
): readonly Hint[] {
  const { nearby, servers } = input.observation;
  const beside = recordsOf(nearby.sibling?.a ?? null);
  const isOwn = servers.some(({ cname }) => cname.kind === 'records');
  const same =
    !isOwn && beside.length > 0 && beside.every((address) => addresses.includes(address));
  return [...wildcardHint(input, same), ...separateZone(input)];
}

/** `*.example.com` (RFC 4592). */
export function wildcardFor(hostname: string): string {
  return `*${hostname.slice(hostname.indexOf('.'))}`;
}

export function isChainOf(found: string, [first]: readonly string[]): boolean {
  return first !== undefined && isSameName(first, found);
}

/** Printable. */
export function foreignText(text: string, lengthMax: number): string {
  // Escapes make a text longer, so it is cut again.
  return [...printable(text, lengthMax - 1)].slice(0, lengthMax).join('');
}

/** Wildcards do not apply to an apex: its siblings are other domains. */
function wildcardHint({ apex, expected }: DiagnosisInput, answers: boolean): readonly Hint[] {
  return answers && !apex
    ? [{ code: 'wildcard_masks', wildcard: wildcardFor(expected.hostname) }]
    : [];
}

/**
 * A random name exists only through a wildcard, which answers for our name too. Servers that return
 * NODATA for every missing name do so only if signatures are requested (RFC 9824); observers do not
 * request them.
 */
function isBareWildcard(input: DiagnosisInput, seen: 'nxdomain' | 'nodata'): boolean {
  const { sibling } = input.observation.nearby;
  return seen === 'nodata' && sibling?.cname.kind === 'nodata' && sibling.a.kind === 'nodata';
}

function targetInTexts({ wrong, expected: { target } }: DiagnosisInput): string | undefined {
  const texts = unique(wrong.flatMap(({ view }) => recordsOf(view.txt)));
  const found = texts.find((text) => text.toLowerCase().includes(target.toLowerCase()));
  return found === undefined ? undefined : foreignText(found, TXT_MAX);
}

/** `text`: one or two sentences. */
export type ExplainedHint = { readonly code: HintCode | CaaHint; readonly text: string };

export function hintsIn(
  finding: Wanted & { readonly hints?: readonly Hint[] },
): readonly ExplainedHint[] {
  return (finding.hints ?? []).map((hint) => inWords(hint, finding));
}

type HintOf<C extends HintCode> = Hint & { readonly code: C };

/** Generic, so that the compiler pairs a hint with its text. */
function inWords<C extends HintCode>(hint: HintOf<C>, wanted: Wanted): ExplainedHint {
  return { code: hint.code, text: hintWords[hint.code](hint, wanted) };
}

export const hintWords: {
  readonly [C in HintCode]: (hint: HintOf<C>, wanted: Wanted) => string;
} = {
  cname_indirect: ({ via }, { target }) =>
    `It reaches ${target}, but through other names: ${lines(via.map(foreignName), ' → ')}. Such chains break without notice; enter the target itself.`,
  doubled_name: ({ name }, wanted) =>
    `The record exists as ${foreignName(name)}: your provider appends the domain. Change its name to “${recordFor(wanted).name}”.`,
  wrong_host: ({ name }, { hostname }) =>
    `The record is at ${foreignName(name)} instead of ${hostname}. Move it, or add ${foreignName(name)} here.`,
  relative_target: ({ found }, { target }) =>
    `Your provider appended the domain to the value, which gives ${foreignName(found)}. End the value with a dot: ${target}.`,
  txt_instead_of_cname: ({ text }, wanted) =>
    `A TXT record has our target as its value: “${foreign(text)}”. Delete it; the type must be ${recordFor(wanted).type}, the value ${wanted.target}.`,
  wildcard_masks: ({ wildcard }, { hostname }) =>
    `This answer can come from the wildcard ${foreign(wildcard)}. A separate record for ${hostname} takes precedence; keep the wildcard.`,
  wildcard_stops: ({ wildcard }, { hostname }) =>
    `The wildcard ${foreign(wildcard)} points here, but does not apply to ${hostname}, because that name has other records or names below it. Create a separate record for ${hostname}.`,
  dname_above: ({ owner, to }, { hostname }) =>
    `The DNAME record of ${foreignName(owner)} redirects every name below it to ${foreignName(to)}. Records of ${hostname} itself are ignored.`,
  apex_points_here: ({ apex }, { hostname }) =>
    `${foreign(apex)} points here already, but that does not cover ${hostname}, which needs its own record.`,
  own_zone: ({ parent }, { hostname, target }) =>
    `${hostname} is a separate zone, where a CNAME is not allowed. If it does not need to be one: ${deleteOwnZone(hostname, { parent, target })}`,
  separate_zone: ({ zone, parent }, { hostname }) =>
    `${foreign(zone)} is a separate zone: what the zone ${foreign(parent)} has for ${hostname} is ignored. Edit the records in ${foreign(zone)}.`,
  plain_answer: () => plainAnswerWords,
  trailing_junk: ({ found }, { target }) =>
    `The value has extra characters: ${foreignName(found)}. Enter ${target} alone, without https://, slashes, quotes or spaces.`,
  partial_target: ({ typed }, { target }) =>
    `The value is only the first part of the target: ${foreignName(typed)}. Enter all of it: ${target}.`,
  doubled_end: ({ typed }, { target }) =>
    `The value has the end of the target twice: ${foreignName(typed)}. Enter ${target}.`,
  misspelled_target: ({ typed }, { target }) =>
    `One character of the value is wrong: ${foreignName(typed)}${differenceInWords(typed, target)}. Enter ${target}.`,
  other_target: ({ typed }, { hostname, target }) =>
    `${foreignName(typed)} looks like the target of another domain. Each domain has its own; the one of ${hostname} is ${target}.`,
};

/** ` has “l” instead of “1” after “p”`; empty unless one character differs. */
function differenceInWords(typed: string, target: string): string {
  const difference = differenceOf(typed, target);
  if (difference === null) return '';
  const { is, wanted, after } = difference;
  const where = after === '' ? 'at the beginning' : `after “${after}”`;
  if (is === '') return ` lacks “${wanted}” ${where}`;
  return wanted === ''
    ? ` has an extra “${foreign(is)}” ${where}`
    : ` has “${foreign(is)}” instead of “${wanted}” ${where}`;
}

/** Up to its registrable domain: each can be the zone in which the record was entered. */
function zonesAbove(hostname: string, registrable: string): readonly string[] {
  const labels = hostname.split('.');
  return labels
    .map((_, index) => labels.slice(index).join('.'))
    .filter((name) => name === registrable || name.endsWith(`.${registrable}`));
}

// How someone who meant the target entered another value. Compares names as text.

/** `typed`: the value without the zone that the provider's form appended. */
type TargetSlip =
  /** The provider added the zone to the value, which lacks its trailing dot. */
  | { readonly code: 'relative_target'; readonly found: string }
  /** The target with a scheme, a path or quotes around it. */
  | { readonly code: 'trailing_junk'; readonly found: string }
  /** Only the first labels; the end twice; one character wrong; a name beside the target. */
  | {
      readonly code: 'partial_target' | 'doubled_end' | 'misspelled_target' | 'other_target';
      readonly typed: string;
    };

const kinds = [
  ['partial_target', isPartOf],
  ['doubled_end', hasDoubledEnd],
  ['other_target', isNeighbor],
  ['misspelled_target', (typed: string, target: string) => differenceOf(typed, target) !== null],
  ['other_target', isBeside],
] as const;

/** The best explanation of an alias. `zones`: those that a form can have appended. */
function targetSlip(found: string, target: string, zones: readonly string[]): TargetSlip | null {
  if (isRelativeTarget(found, target, zones)) return { code: 'relative_target', found };
  if (isTargetWithJunk(found, target, zones)) return { code: 'trailing_junk', found };
  const [alias, wanted] = [plain(found), plain(target)];
  const candidates = [alias, ...withoutZones(alias, zones)];
  for (const [code, matches] of kinds) {
    const typed = candidates.find((candidate) => matches(candidate, wanted));
    if (typed !== undefined) return { code, typed };
  }
  return null;
}

/** Providers add their zone to a value without a trailing dot. `zones`: candidates. */
export function isRelativeTarget(found: string, target: string, zones: readonly string[]): boolean {
  return zones.some((zone) => isSameName(found, `${target}.${zone}`));
}

/** The target with a scheme, a path, a port, quotes, spaces, commas or dots, and perhaps a zone appended. */
export function isTargetWithJunk(found: string, target: string, zones: readonly string[]): boolean {
  if (isSameName(found, target) || isRelativeTarget(found, target, zones)) return false;
  const text = unescaped(found).toLowerCase();
  const wanted = target.toLowerCase();
  return [text, ...withoutZones(text, zones)].some((candidate) => {
    const bare = withoutJunk(candidate);
    return (
      bare === wanted ||
      (bare.startsWith(wanted) && /[^a-z0-9_.-]/.test(bare.charAt(wanted.length)))
    );
  });
}

function withoutZones(name: string, zones: readonly string[]): readonly string[] {
  return zones
    .filter((zone) => name.endsWith(`.${zone}`))
    .map((zone) => name.slice(0, -zone.length - 1));
}

function withoutJunk(text: string): string {
  const [host = ''] = text
    .replace(/[\s"'`,<>\u201c\u201d\u2018\u2019]/g, '')
    .replace(/^[a-z][a-z0-9+-]*:\/\//, '')
    .split(/[/?#]/, 1);
  return host.replace(/^\.+/, '').replace(/\.+$/, '');
}

/** RFC 4343, section 2.1: \DDD is an octet, \X is X. */
function unescaped(name: string): string {
  return name.replace(/\\(?:(\d{3})|(.))/g, (_, octet?: string, character?: string) =>
    octet === undefined ? (character ?? '') : String.fromCharCode(Number(octet)),
  );
}

/** A bare `www` more likely means another name. */
function isPartOf(typed: string, target: string): boolean {
  return typed !== '' && typed !== 'www' && target.startsWith(`${typed}.`);
}

/** `x.edge.test.edge.test`, or the whole target twice. */
function hasDoubledEnd(typed: string, target: string): boolean {
  const end = typed.startsWith(`${target}.`) ? typed.slice(target.length + 1) : '';
  return end !== '' && (target === end || target.endsWith(`.${end}`));
}

/** The target's parent with another label: probably the target of another domain. */
function isBeside(typed: string, target: string): boolean {
  if (splitAtZone(target).apex || isSameName(typed, target)) return false;
  const above = target.slice(target.indexOf('.'));
  const label = typed.slice(0, -above.length);
  return typed.endsWith(above) && label !== '' && !/[.*]/.test(label);
}

/** Longer labels are random, so one that differs in one character is a typo. */
const COUNTED_MAX = 6;

/** Such as `p2.edge.test` beside `p1.edge.test`. */
function isNeighbor(typed: string, target: string): boolean {
  return target.indexOf('.') <= COUNTED_MAX && isBeside(typed, target);
}

/** Empty `is`: a character is missing. Empty `wanted`: one too many. `after`: what is before it. */
type OneCharacter = { readonly is: string; readonly wanted: string; readonly after: string };

/** One character, or two that changed places; null if the texts are equal or differ by more. */
function differenceOf(typed: string, target: string): OneCharacter | null {
  const [one, other] = [plain(typed), plain(target)];
  if (one === other || Math.abs(one.length - other.length) > 1) return null;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const after = other.slice(0, at);
  const differ = (is: number, wanted: number) =>
    one.slice(at + is) === other.slice(at + wanted)
      ? { is: one.slice(at, at + is), wanted: other.slice(at, at + wanted), after }
      : null;
  if (one.length !== other.length) return one.length < other.length ? differ(0, 1) : differ(1, 0);
  const [is, wanted] = [one.slice(at, at + 2), other.slice(at, at + 2)];
  const swapped = is.length === 2 && is === `${wanted[1]}${wanted[0]}`;
  return differ(1, 1) ?? (swapped ? differ(2, 2) : null);
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
