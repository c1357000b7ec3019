/** Slips in the text of an alias: what somebody typed who meant the target. */
import { isSameName } from './pointing.ts';

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

/** The names from the host name up to its registrable domain: each may be the zone it was typed into. */
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
