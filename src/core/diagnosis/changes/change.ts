/** What to do at the DNS provider, one entry per record. Plain JSON. */

export type ChangeVerb = 'add' | 'change' | 'delete' | 'keep';

export const changeTypes = [
  'CNAME',
  'ALIAS',
  'ANAME',
  'A',
  'AAAA',
  'CAA',
  'TXT',
  'MX',
  'DNAME',
  'HTTPS',
] as const;
/** As the provider's own form calls it. */
export type ChangeType = (typeof changeTypes)[number];

/** `unknown`: no server gave a usable answer, or nothing was checked yet. */
export type ChangeState = 'to_do' | 'spreading' | 'done' | 'unknown';

export type ServerChange = {
  /** Its name, or its address if only resolvers were queried. */
  readonly name: string;
  /** Of this change alone: a server can have one change and lack another. */
  readonly state: Exclude<ChangeState, 'spreading'>;
  /** What it has at the record's name. Safe to display; HTML needs escaping. */
  readonly shows: string;
};

export type DnsChange = {
  readonly verb: ChangeVerb;
  readonly type: ChangeType;
  /**
   * Relative to the zone, as the provider's form expects it: `docs`, `@` or an empty name for the zone
   * itself. A full name with a final dot if it is outside of the zone.
   */
  readonly name: string;
  /** CAA: in presentation form. `delete`: foreign, so made printable. */
  readonly value: string;
  /** The value to replace; only with `change`. */
  readonly was?: string | undefined;
  /** Seconds. `delete`, `keep`: as observed, which is how long resolvers remember the record. */
  readonly ttl: number;
  readonly state: ChangeState;
  /** Sorted as observed. Empty: nothing was checked, or the record is not in the zone's servers. */
  readonly servers: readonly ServerChange[];
  /** Sentences about this record alone. */
  readonly note?: string | undefined;
};

export function isOpen({ verb, state }: DnsChange): boolean {
  return verb !== 'keep' && state !== 'done';
}

/** Empty notes are left out. */
export function noted(...sentences: readonly (string | undefined)[]): { readonly note?: string } {
  const note = sentences.filter((one) => one !== undefined && one !== '').join(' ');
  return note === '' ? {} : { note };
}

/** `docs`, `@`, or the full name with a final dot if it is outside `zone`. */
export function nameIn(zone: string, fullName: string): string {
  if (fullName === zone) return '@';
  return fullName.endsWith(`.${zone}`) ? fullName.slice(0, -zone.length - 1) : `${fullName}.`;
}
