/** The likely slip behind a finding, read from what stands at and around the host name. */
import { recordFor } from '../names/instructions.ts';
import { printable } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { CaaHint } from './caa/caa-set.ts';
import { byText, type DiagnosisInput, handedOver, unique } from './input.ts';
import { type NearbyName, recordsOf } from './observation.ts';
import { isSameName } from './server-pointing.ts';
import { slipOfOne, type TargetSlip, targetSlip } from './target-slips.ts';
import { foreign, foreignName, lines, takeBack, type Wanted } from './words.ts';

/** The likely slip behind a finding. */
export type Hint =
  /** It arrives at the target by a detour; the interface wants the exact value. `via`: the names in between. */
  | { readonly code: 'cname_indirect'; readonly via: readonly string[] }
  /** The record is at this name: the zone was added to a name that had it already. */
  | { readonly code: 'doubled_name'; readonly name: string }
  /** The record is at this name, which is not the host name. */
  | { readonly code: 'wrong_host'; readonly name: string }
  /** The zone was added to the value: it lacks its trailing dot. */
  | { readonly code: 'relative_target'; readonly found: string }
  /** A TXT record has the target in it; `text`: 120 characters of it at most. */
  | { readonly code: 'txt_instead_of_cname'; readonly text: string }
  /** What shows at the name is that of a wildcard, `*.example.com`. */
  | { readonly code: 'wildcard_masks'; readonly wildcard: string }
  /** The wildcard leads here, but not for this name: it exists otherwise, so no wildcard reaches it. */
  | { readonly code: 'wildcard_stops'; readonly wildcard: string }
  /** The alias is made from a DNAME record above the name, which redirects every name below `owner` to `target`. */
  | { readonly code: 'dname_above'; readonly owner: string; readonly to: string }
  /** The domain above leads here already, which does not cover its `www`. */
  | { readonly code: 'apex_leads_here'; readonly apex: string }
  /** NS records in `parent` make the host name a zone of its own, where no CNAME may stand. */
  | { readonly code: 'own_zone'; readonly parent: string }
  /** The target with a scheme, a path or quotes around it. */
  | { readonly code: 'trailing_junk'; readonly found: string }
  /** Only the first part of the target; or its end twice; or one character wrong; or another domain's target. */
  | TargetSlip;

/** A hint's name, as it is stored and as the API spells it. */
export type HintCode = Hint['code'];

/** Characters of a TXT record that should have been a CNAME. */
const TXT_MAX = 120;

/** The hints as a finding has them: nothing at all where there are none. */
export function hinted(hints: readonly Hint[]): { readonly hints?: readonly Hint[] } {
  return hints.length === 0 ? {} : { hints };
}

/** Returns where the record may have gone instead; none where nothing is known. */
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
    ...wildcardStops(input, seen, doubled),
    ...(doubled === null || doubled.wildcard
      ? []
      : [{ code: 'doubled_name', name: doubled.name } as const]),
    ...nearby.wrongHosts
      .filter(leadsToTarget)
      .map(({ name, wildcard }) => (wildcard ? wildcardFor(name) : name))
      .map((name) => ({ code: 'wrong_host', name }) as const)
      .sort(byText(({ name }) => name)),
    ...(text === undefined ? [] : [{ code: 'txt_instead_of_cname', text } as const]),
    ...wildcardHint(input, isBareWildcard(input, seen)),
    ...apexHint(input),
    ...ownZoneHint(input),
  ];
}

/** The domain shows our addresses, so its owner may take `www` for done. */
function apexHint({ observation, zone, isOwn }: DiagnosisInput): readonly Hint[] {
  const apex = observation.nearby.wrongHosts.find(({ name }) => name === zone);
  const addresses = recordsOf(apex?.a ?? null);
  const leadsHere = addresses.length > 0 && addresses.every(isOwn);
  return leadsHere ? [{ code: 'apex_leads_here', apex: zone }] : [];
}

/** Returns the NS records that make the host name an apex, which it need not be; none for all other names. */
export function ownZoneHint(input: DiagnosisInput): readonly Hint[] {
  const { handed } = handedOver(input);
  return handed === undefined ? [] : [{ code: 'own_zone', parent: handed.parent }];
}

/**
 * A name that exists is never answered by a wildcard, but the names beside it are, or, where only the zone has one, those
 * beside the doubled name.
 */
function wildcardStops(
  { observation: { nearby }, expected: { hostname, target } }: DiagnosisInput,
  seen: 'nxdomain' | 'nodata',
  doubled: NearbyName | null,
): readonly Hint[] {
  const beside = recordsOf(nearby.sibling?.cname ?? null).some((one) => isSameName(one, target));
  if (seen === 'nodata' && beside) {
    return [{ code: 'wildcard_stops', wildcard: wildcardFor(hostname) }];
  }
  return doubled?.wildcard
    ? [{ code: 'wildcard_stops', wildcard: `*.${doubled.name.slice(hostname.length + 1)}` }]
    : [];
}

/** Returns how somebody who meant the target came to write this alias; none where nothing suggests it. */
export function hintsForAlias(input: DiagnosisInput, found: string): readonly Hint[] {
  const { hostname, target } = input.expected;
  const { chain, sibling, dname } = input.observation.nearby;
  // No record of the name's own is behind the alias, so nobody has mistyped one.
  if (dname !== undefined) return [{ code: 'dname_above', owner: dname.owner, to: dname.target }];
  const zones = unique([...zonesAbove(hostname, splitAtZone(hostname).zone), input.zone]);
  const indirect = chain?.end === 'target' && isChainOf(found, chain.names);
  const same = recordsOf(sibling?.cname ?? null).some((alias) => isSameName(alias, found));
  const slip = slipIn(found, target, zones);
  return [
    ...(indirect
      ? [
          {
            code: 'cname_indirect',
            via: chain.names.filter((name) => !isSameName(name, target)),
          } as const,
        ]
      : []),
    ...(slip === undefined ? [] : [slip]),
    ...wildcardHint(input, same),
  ];
}

/** One slip explains a value; the first one that does. */
function slipIn(found: string, target: string, zones: readonly string[]): Hint | undefined {
  if (isRelativeTarget(found, target, zones)) return { code: 'relative_target', found };
  if (isTargetWithJunk(found, target, zones)) return { code: 'trailing_junk', found };
  return targetSlip(found, target, zones);
}

/** Returns the wildcard that the addresses in the way belong to, if any. Only A is asked of the sibling. */
export function hintsForAddresses(
  input: DiagnosisInput,
  addresses: readonly string[],
): readonly Hint[] {
  const beside = recordsOf(input.observation.nearby.sibling?.a ?? null);
  const same = beside.length > 0 && beside.every((address) => addresses.includes(address));
  return wildcardHint(input, same);
}

/** The wildcard that would answer for the host name (RFC 4592), e.g. `*.example.com`. */
export function wildcardFor(hostname: string): string {
  return `*${hostname.slice(hostname.indexOf('.'))}`;
}

/** Whether a chain of aliases begins with this one. */
export function isChainOf(found: string, [first]: readonly string[]): boolean {
  return first !== undefined && isSameName(first, found);
}

/** Foreign text as evidence: fit to be stored and read, and of at most `lengthMax` characters. */
export function foreignText(text: string, lengthMax: number): string {
  // Escapes make a text longer, so it is cut again behind them.
  return [...printable(text, lengthMax - 1)].slice(0, lengthMax).join('');
}

/** No wildcard reaches an apex: what stands beside it belongs to others. */
function wildcardHint({ apex, expected }: DiagnosisInput, answers: boolean): readonly Hint[] {
  return answers && !apex
    ? [{ code: 'wildcard_masks', wildcard: wildcardFor(expected.hostname) }]
    : [];
}

/**
 * A random name exists only by a wildcard: one with records of other types answers for our name, too. Servers that give
 * NODATA for every missing name do so only where signatures are asked for (RFC 9824), which observers do not.
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

/** A hint in words; `text` is one or two sentences. */
export type ExplainedHint = { readonly code: HintCode | CaaHint; readonly text: string };

/** The hints of a finding about the record in words; none where it has none. */
export function hintsIn(
  finding: Wanted & { readonly hints?: readonly Hint[] },
): readonly ExplainedHint[] {
  return (finding.hints ?? []).map((hint) => inWords(hint, finding));
}

type HintOf<C extends HintCode> = Hint & { readonly code: C };

/** Generic, so that the compiler sees that a hint and its words belong together. */
function inWords<C extends HintCode>(hint: HintOf<C>, wanted: Wanted): ExplainedHint {
  return { code: hint.code, text: hintWords[hint.code](hint, wanted) };
}

/** One or two sentences for each code; total over the codes. */
export const hintWords: {
  readonly [C in HintCode]: (hint: HintOf<C>, wanted: Wanted) => string;
} = {
  cname_indirect: ({ via }, { target }) =>
    `It does arrive at ${target}, but by a detour: ${lines(via.map(foreignName), ' → ')}. Detours break without notice; enter the name itself.`,
  doubled_name: ({ name }, wanted) =>
    `The record exists as ${foreignName(name)}: your provider adds the domain by itself. Change its name to “${recordFor(wanted).name}”.`,
  wrong_host: ({ name }, { hostname }) =>
    `The record stands at ${foreignName(name)} instead of ${hostname}. Move it, or add ${foreignName(name)} here.`,
  relative_target: ({ found }, { target }) =>
    `Your provider added the domain to the value, which makes ${foreignName(found)}. Write the value with a dot at its end: ${target}.`,
  txt_instead_of_cname: ({ text }, wanted) =>
    `There is a TXT record that names our target: “${foreign(text)}”. Delete it; the type has to be ${recordFor(wanted).type}, the value ${wanted.target}.`,
  wildcard_masks: ({ wildcard }, { hostname }) =>
    `What shows here comes from the wildcard ${foreign(wildcard)}. A record of its own for ${hostname} goes before it; the wildcard may stay.`,
  wildcard_stops: ({ wildcard }, { hostname }) =>
    `The wildcard ${foreign(wildcard)} leads here, but not for ${hostname}: a name that has other records, or names below it, is never answered by a wildcard. It needs the record of its own.`,
  dname_above: ({ owner, to }, { hostname }) =>
    `The DNAME record of ${foreignName(owner)} redirects every name below it to ${foreignName(to)}, ${hostname} too, whatever records it has of its own.`,
  apex_leads_here: ({ apex }, { hostname }) =>
    `${foreign(apex)} leads here already, but that does not cover ${hostname}, which needs the record of its own.`,
  own_zone: ({ parent }, { hostname, target }) =>
    `NS records in ${foreign(parent)} make ${hostname} a zone of its own, where no CNAME may stand. If it need not be one: ${takeBack(hostname, { parent, target })}`,
  trailing_junk: ({ found }, { target }) =>
    `The value was pasted with something around it: ${foreignName(found)}. Enter ${target} alone, without https://, slashes, quotes or blanks.`,
  partial_target: ({ typed }, { target }) =>
    `Only the first part of the value was entered: ${foreignName(typed)}. Enter all of it: ${target}.`,
  doubled_end: ({ typed }, { target }) =>
    `The end of the value is there twice: ${foreignName(typed)}. Enter ${target}.`,
  misspelt_target: ({ typed }, { target }) =>
    `One character of the value is wrong: ${foreignName(typed)}${differenceIn(typed, target)}. Enter ${target}.`,
  other_target: ({ typed }, { hostname, target }) =>
    `${foreignName(typed)} looks like the target of another domain here. Each domain has its own; that of ${hostname} is ${target}.`,
};

/** ` has “l” instead of “1” after “p”`; empty where the two do not differ by one character. */
function differenceIn(typed: string, target: string): string {
  const slip = slipOfOne(typed, target);
  if (slip === undefined) return '';
  const { is, wanted, after } = slip;
  const where = after === '' ? 'at the beginning' : `after “${after}”`;
  if (is === '') return ` lacks “${wanted}” ${where}`;
  return wanted === ''
    ? ` has one “${foreign(is)}” too many ${where}`
    : ` has “${foreign(is)}” instead of “${wanted}” ${where}`;
}

/**
 * Whether the alias is the target with a zone appended: providers add their zone to a value that lacks its trailing
 * dot. `zones`: those that may have been appended.
 */
export function isRelativeTarget(found: string, target: string, zones: readonly string[]): boolean {
  return zones.some((zone) => isSameName(found, `${target}.${zone}`));
}

/**
 * Whether the alias is the target with something around it: a scheme, a path, a port, quotes, blanks, commas, dots;
 * with or without a zone appended.
 */
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

/** Returns the names from the host name up to its registrable domain: each may be the zone it was typed into. */
export function zonesAbove(hostname: string, registrable: string): readonly string[] {
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

/** A name in presentation form as the text that was typed (RFC 4343, 2.1): \DDD is an octet, \X is X. */
function unescaped(name: string): string {
  return name.replace(/\\(?:(\d{3})|(.))/g, (_, octet?: string, character?: string) =>
    octet === undefined ? (character ?? '') : String.fromCharCode(Number(octet)),
  );
}
