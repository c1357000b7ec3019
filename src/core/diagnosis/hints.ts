/** Likely mistakes behind a finding, derived from records at and around the host name. */
import { recordFor } from '../names/instructions.ts';
import { printable } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { CaaHint } from './caa/caa-set.ts';
import { byText, type DiagnosisInput, unique } from './input.ts';
import { type NearbyName, recordsOf } from './observation.ts';
import { isSameName } from './server-pointing.ts';
import { foreign, foreignName, lines, type Wanted } from './words.ts';

export type Hint =
  /** Reaches the target through the names `via`, but the exact value is required. */
  | { readonly code: 'cname_indirect'; readonly via: readonly string[] }
  /** The provider added the zone to the full name. */
  | { readonly code: 'doubled_name'; readonly name: string }
  /** The record is at this name instead of the host name. */
  | { readonly code: 'wrong_host'; readonly name: string }
  /** The provider added the zone to the value, which lacks its trailing dot. */
  | { readonly code: 'relative_target'; readonly found: string }
  /** `text`: at most 120 characters of the TXT record. */
  | { readonly code: 'txt_instead_of_cname'; readonly text: string }
  /** `wildcard`: `*.example.com`. */
  | { readonly code: 'wildcard_masks'; readonly wildcard: string }
  /** The target with a scheme, a path or quotes around it. */
  | { readonly code: 'trailing_junk'; readonly found: string };

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
  return [
    ...(doubled === null ? [] : [{ code: 'doubled_name', name: doubled.name } as const]),
    ...nearby.wrongHosts
      .filter(leadsToTarget)
      .map(({ name }) => ({ code: 'wrong_host', name }) as const)
      .sort(byText(({ name }) => name)),
    ...(text === undefined ? [] : [{ code: 'txt_instead_of_cname', text } as const]),
    ...wildcardHint(input, isBareWildcard(input, seen)),
  ];
}

export function hintsForAlias(input: DiagnosisInput, found: string): readonly Hint[] {
  const { hostname, target } = input.expected;
  const { chain, sibling } = input.observation.nearby;
  const zones = unique([...zonesAbove(hostname, splitAtZone(hostname).zone), input.zone]);
  const indirect = chain?.end === 'target' && isChainOf(found, chain.names);
  const same = recordsOf(sibling?.cname ?? null).some((alias) => isSameName(alias, found));
  return [
    ...(indirect
      ? [
          {
            code: 'cname_indirect',
            via: chain.names.filter((name) => !isSameName(name, target)),
          } as const,
        ]
      : []),
    ...(isRelativeTarget(found, target, zones)
      ? [{ code: 'relative_target', found } as const]
      : []),
    ...(isTargetWithJunk(found, target, zones) ? [{ code: 'trailing_junk', found } as const] : []),
    ...wildcardHint(input, same),
  ];
}

/** The sibling is queried for A only. */
export function hintsForAddresses(
  input: DiagnosisInput,
  addresses: readonly string[],
): readonly Hint[] {
  const beside = recordsOf(input.observation.nearby.sibling?.a ?? null);
  const same = beside.length > 0 && beside.every((address) => addresses.includes(address));
  return wildcardHint(input, same);
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
    `This answer comes from the wildcard ${foreign(wildcard)}. A separate record for ${hostname} takes precedence; keep the wildcard.`,
  trailing_junk: ({ found }, { target }) =>
    `The value has extra characters: ${foreignName(found)}. Enter ${target} alone, without https://, slashes, quotes or spaces.`,
};

/** Providers add their zone to a value without a trailing dot. `zones`: candidates. */
export function isRelativeTarget(found: string, target: string, zones: readonly string[]): boolean {
  return zones.some((zone) => isSameName(found, `${target}.${zone}`));
}

/** Examples: a scheme, a path, a port, quotes, spaces, commas, dots; a zone can also be added. */
export function isTargetWithJunk(found: string, target: string, zones: readonly string[]): boolean {
  if (isSameName(found, target) || isRelativeTarget(found, target, zones)) return false;
  const text = unescaped(found).toLowerCase();
  const wanted = target.toLowerCase();
  const cut = zones
    .filter((zone) => text.endsWith(`.${zone}`))
    .map((zone) => text.slice(0, -zone.length - 1));
  return [text, ...cut].some((candidate) => {
    const bare = withoutJunk(candidate);
    return (
      bare === wanted ||
      (bare.startsWith(wanted) && /[^a-z0-9_.-]/.test(bare.charAt(wanted.length)))
    );
  });
}

/** Up to its registrable domain: each can be the zone in which the record was entered. */
function zonesAbove(hostname: string, registrable: string): readonly string[] {
  const labels = hostname.split('.');
  return labels
    .map((_, index) => labels.slice(index).join('.'))
    .filter((name) => name === registrable || name.endsWith(`.${registrable}`));
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
