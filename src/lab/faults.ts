/** The faults of a laboratory: what it does wrong, and about which names, types and roles. */
import type { LabExtendedError } from './encode.ts';

/**
 * Says nothing true: `nxdomain` and `nodata` deny what is there; `timeout` says nothing; `not_authoritative` lacks the
 * AA flag; `upward_referral` sends back to the root; `notimp` does not know the type; `formerr_edns` does not know EDNS.
 * `truncate` only over UDP; `no_tcp` is truncated, and hangs up over TCP; `garbage` repeats id and question, then
 * nonsense; `flood` is truncated over UDP, and garbage of 40,000 octets over TCP. `wrong_id`, `wrong_question` and
 * `wrong_source` (another port) are right in all else; `lower_case` loses the case of the question. `endless_alias`:
 * each name is an alias of a further one. `hold`: no answer until the fault is healed; then the right one.
 * An object: `delay` answers rightly, later; `servfail` with reasons (RFC 8914); `bogus` is a validating resolver
 * before bad signatures: SERVFAIL with reasons, but the right answer with CD (RFC 4035, 3.2.2); `remembered`
 * has these lines in place of the name's own (`@ A 192.0.2.1`), or that there are none, for `ttlSeconds` more.
 */
export type LabFault = SimpleFault | FaultWithDetail;

/** Faults that need nothing but their name; `LabFault` says what each one does. */
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

/** Faults that carry a time, reasons or records; `LabFault` says what each one does. */
export type FaultWithDetail =
  /** `ms`: how long the right answer is held back. */
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'servfail' | 'bogus'; readonly errors: readonly LabExtendedError[] }
  | {
      readonly kind: 'remembered';
      /** Lines of a zone file with `@` for the name that was asked; empty: it is remembered that there are none. */
      readonly lines: readonly string[];
      readonly ttlSeconds: number;
      /**
       * Without lines: whether the name or only the type is remembered as missing; `nxdomain` where nothing is said.
       */
      readonly nothing?: 'nxdomain' | 'nodata';
    };

/** A laboratory is an authority for who asks without RD, and a recursive server for who asks with it. */
export type LabRole = 'authority' | 'recursive';

/** A fault under way. `released` resolves when it is healed. */
export type ActiveFault = { readonly fault: LabFault; readonly released: Promise<void> };

/** The faults under way. At most one stands for the same names, type and role. */
export type FaultBook = {
  /** Replaces the fault of the same names, type and role, which is healed. Without a role it stands in both. */
  readonly add: (names: string, type: string, fault: LabFault, role?: LabRole) => void;
  /**
   * The nearest fault: of the name itself before one above, of its type before any, of its role before both.
   * Undefined: there is none. `name` in lower case.
   */
  readonly find: (name: string, type: string, role: LabRole) => ActiveFault | undefined;
  /** Ends the faults of exactly these names, as they were given, or all. */
  readonly heal: (names?: string) => void;
};

type Entry = ActiveFault & {
  readonly names: string;
  readonly type: string;
  readonly role: LabRole | undefined;
  readonly release: () => void;
};

/** An empty book. `names` is a name, or `.zone` for a zone and all below it, or `.` for everything; `*`: any type. */
export function createFaultBook(): FaultBook {
  const entries = new Set<Entry>();
  const end = (entry: Entry) => {
    entries.delete(entry);
    entry.release();
  };
  return {
    add(names, type, fault, role) {
      for (const entry of entries) {
        if (entry.names === names && entry.type === type && entry.role === role) end(entry);
      }
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      entries.add({ names, type, role, fault, released, release });
    },
    find(name, type, role) {
      return [...entries]
        .filter((entry) => entry.type === type || entry.type === '*')
        .filter((entry) => (entry.role ?? role) === role && covers(entry.names, name))
        .toSorted((a, b) => rank(b) - rank(a))[0];
    },
    heal(names) {
      for (const entry of entries) if (names === undefined || entry.names === names) end(entry);
    },
  };
}

function covers(names: string, name: string): boolean {
  return names === name || names === '.' || (`.${name}`.endsWith(names) && names.startsWith('.'));
}

/** A name itself before what is above it, the nearer the better; among equals the type, then the role that was told. */
function rank({ names, type, role }: Entry): number {
  // No name has 1,000 characters, so the name itself comes before everything above it.
  const near = names.startsWith('.') ? names.length : 1_000;
  return near * 4 + (type === '*' ? 0 : 2) + (role === undefined ? 0 : 1);
}
