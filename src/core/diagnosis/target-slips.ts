/** How someone who meant the target entered another value. Compares names as text. */
import { splitAtZone } from '../names/zone.ts';
import { isSameName } from './server-pointing.ts';

/** `typed`: the value without the zone that the provider's form appended. */
export type TargetSlip =
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
export function targetSlip(
  found: string,
  target: string,
  zones: readonly string[],
): TargetSlip | null {
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
export function differenceOf(typed: string, target: string): OneCharacter | null {
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
