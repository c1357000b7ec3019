import type { LabExtendedError } from './encode.ts';

/**
 * What the test lab does wrong:
 *
 * - `nxdomain` and `nodata` deny existing records; `timeout` sends nothing.
 * - `not_authoritative` lacks the AA flag; `upward_referral` refers to the root.
 * - `notimp` does not know the type; `formerr_edns` does not know EDNS.
 * - `truncate` affects UDP only; `no_tcp` truncates and closes TCP connections.
 * - `garbage` repeats id and question, followed by nonsense; `flood` truncates over UDP and sends
 *   40,000 octets of garbage over TCP.
 * - `wrong_id`, `wrong_question` and `wrong_source` (another port) are otherwise correct.
 * - `lower_case` loses the letter case of the question.
 * - `endless_alias`: each name is an alias of another one.
 * - `hold`: no response until the fault is healed, then the correct one.
 * - `delay`: the correct response, later.
 * - `servfail`: with reasons (RFC 8914).
 * - `bogus`: a validating resolver with bad signatures: SERVFAIL with reasons, but the correct
 *   answer with CD (RFC 4035, 3.2.2).
 * - `remembered`: these lines instead of the name's own (`@ A 192.0.2.1`), or none, cached for
 *   `ttlSeconds` more.
 */
export type LabFault = SimpleFault | FaultWithDetail;

export type SimpleFault =
  | 'servfail'
  | 'refused'
  | 'nxdomain'
  | 'nodata'
  | 'timeout'
  | 'not_authoritative'
  | 'upward_referral'
  | 'notimp'
  | 'formerr_edns'
  | 'truncate'
  | 'no_tcp'
  | 'garbage'
  | 'flood'
  | 'wrong_id'
  | 'wrong_question'
  | 'wrong_source'
  | 'lower_case'
  | 'endless_alias'
  | 'hold';

export type FaultWithDetail =
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'servfail' | 'bogus'; readonly errors: readonly LabExtendedError[] }
  | {
      readonly kind: 'remembered';
      /** Zone file lines with `@` for the queried name; empty: a cached negative answer. */
      readonly lines: readonly string[];
      readonly ttlSeconds: number;
      /** Without lines: whether the name or only the type is missing; default `nxdomain`. */
      readonly nothing?: 'nxdomain' | 'nodata';
    };

/** Without RD a test lab is an authority, with RD a recursive server. */
export type LabRole = 'authority' | 'recursive';

/** `released` resolves when the fault is healed. */
export type ActiveFault = { readonly fault: LabFault; readonly released: Promise<void> };

type Entry = ActiveFault & {
  readonly names: string;
  readonly type: string;
  readonly role: LabRole | undefined;
  readonly release: () => void;
};

/** `names`: a name, `.zone` for a zone and everything below, or `.`; `*`: any type. */
export function createFaultBook() {
  const entries = new Set<Entry>();
  const end = (entry: Entry) => {
    entries.delete(entry);
    entry.release();
  };
  return {
    /** Replaces (and heals) the fault of the same names, type and role. Default role: both. */
    add(names: string, type: string, fault: LabFault, role?: LabRole): void {
      for (const entry of entries) {
        if (entry.names === names && entry.type === type && entry.role === role) end(entry);
      }
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      entries.add({ names, type, role, fault, released, release });
    },
    /** The name before one above, the type before any, the role before both. */
    find(name: string, type: string, role: LabRole): ActiveFault | undefined {
      return [...entries]
        .filter((entry) => entry.type === type || entry.type === '*')
        .filter((entry) => (entry.role ?? role) === role && covers(entry.names, name))
        .toSorted((a, b) => rank(b) - rank(a))[0];
    },
    /** Removes the faults of exactly these names, as given, or all. */
    heal(names?: string): void {
      for (const entry of entries) if (names === undefined || entry.names === names) end(entry);
    },
  };
}

/** At most one fault per names, type and role. */
export type FaultBook = ReturnType<typeof createFaultBook>;

function covers(names: string, name: string): boolean {
  return names === name || names === '.' || (`.${name}`.endsWith(names) && names.startsWith('.'));
}

/** The name itself before names above it, nearest first; then the type, then the role. */
function rank({ names, type, role }: Entry): number {
  // Names have fewer than 1,000 characters, so the name itself ranks first.
  const near = names.startsWith('.') ? names.length : 1_000;
  return near * 4 + (type === '*' ? 0 : 2) + (role === undefined ? 0 : 1);
}
