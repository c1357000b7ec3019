/** How somebody who meant the target came to another value: names compared as text, nothing else. */
import { splitAtZone } from '../names/zone.ts';
import { isSameName } from './server-pointing.ts';

/**
 * What is wrong with a value. `typed`: the value without the zone that the provider's form added.
 * `partial_target`: only the first labels; `doubled_end`: the end twice; `misspelt_target`: one character;
 * `other_target`: another name beside the target.
 */
export type TargetSlip = {
  readonly code: 'partial_target' | 'doubled_end' | 'misspelt_target' | 'other_target';
  readonly typed: string;
};

/** Returns the slip that explains an alias best; undefined where none does. `zones`: those a form may have added. */
export function targetSlip(
  found: string,
  target: string,
  zones: readonly string[],
): TargetSlip | undefined {
  const [alias, wanted] = [plain(found), plain(target)];
  const candidates = [
    alias,
    ...zones
      .filter((zone) => alias.endsWith(`.${zone}`))
      .map((zone) => alias.slice(0, -zone.length - 1)),
  ];
  const kinds = [
    ['partial_target', isPartOf],
    ['doubled_end', hasDoubledEnd],
    ['misspelt_target', isOneCharacterOff],
    ['other_target', isBeside],
  ] as const;
  for (const [code, matches] of kinds) {
    const typed = candidates.find((candidate) => matches(candidate, wanted));
    if (typed !== undefined) return { code, typed };
  }
  return undefined;
}

/** The first label or more of the target, but not all; a bare `www` is more likely another name that was meant. */
function isPartOf(typed: string, target: string): boolean {
  return typed !== '' && typed !== 'www' && target.startsWith(`${typed}.`);
}

/** `x.edge.test.edge.test`, or the whole target twice. */
function hasDoubledEnd(typed: string, target: string): boolean {
  const end = typed.startsWith(`${target}.`) ? typed.slice(target.length + 1) : '';
  return end !== '' && (target === end || target.endsWith(`.${end}`));
}

function isOneCharacterOff(typed: string, target: string): boolean {
  return slipOfOne(typed, target) !== undefined;
}

/** A name of as many labels in the same place: there the platform has a target for each of its domains. */
function isBeside(typed: string, target: string): boolean {
  if (splitAtZone(target).apex || isSameName(typed, target)) return false;
  const above = target.slice(target.indexOf('.'));
  const label = typed.slice(0, -above.length);
  return typed.endsWith(above) && label !== '' && !/[.*]/.test(label);
}

/** Where two texts differ by one character, or by two that changed places: what stands there, and what belongs there. */
export type OneCharacter = {
  /** Empty where a character is missing. */
  readonly is: string;
  /** Empty where there is one too many. */
  readonly wanted: string;
  /** Characters before it. */
  readonly after: string;
};

/** Returns the difference; undefined where the two are the same, or differ by more. */
export function slipOfOne(typed: string, target: string): OneCharacter | undefined {
  const [one, other] = [plain(typed), plain(target)];
  if (one === other || Math.abs(one.length - other.length) > 1) return undefined;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const after = other.slice(0, at);
  const differ = (is: number, wanted: number) =>
    one.slice(at + is) === other.slice(at + wanted)
      ? { is: one.slice(at, at + is), wanted: other.slice(at, at + wanted), after }
      : undefined;
  if (one.length !== other.length) return one.length < other.length ? differ(0, 1) : differ(1, 0);
  const [is, wanted] = [one.slice(at, at + 2), other.slice(at, at + 2)];
  const swapped = is.length === 2 && is === `${wanted[1]}${wanted[0]}`;
  return differ(1, 1) ?? (swapped ? differ(2, 2) : undefined);
}

function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
