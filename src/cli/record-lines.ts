/** The DNS record to create, as a table to copy from, and what its provider calls it. */
import { toUnicodeName } from '../core/names/idna.ts';
import { type Page, plain, table, wrapped } from './layout.ts';

/** A record and who runs its zone, as both the API's domains and its diagnoses have them. */
export type RecordShown = {
  readonly record: {
    readonly type: 'CNAME' | 'ALIAS';
    /** Relative to the zone; `@` for the zone itself. */
    readonly name: string;
    readonly value: string;
    /** In seconds. */
    readonly ttl: bigint;
  };
  /** Null: who runs the zone is unknown. */
  readonly provider: {
    readonly name: string;
    /** What the provider calls an ALIAS; null: it has none that we know of. */
    readonly apex: string | null;
    /** A sentence: where records are entered. */
    readonly where: string;
  } | null;
};

/**
 * A table of the record, and below it what the provider calls it and where it is entered. Names and values are never
 * cut, because people copy them: the table may be wider than the page.
 */
export function recordLinesOf({ record, provider }: RecordShown, page: Page): readonly string[] {
  const { type, name, value, ttl } = record;
  const isApex = type === 'ALIAS';
  const row = [isApex ? typeAt(provider) : type, spelt(name), plain(value), String(ttl)];
  const rows = [['Type', 'Name', 'Value', 'TTL'], row].map((cells) =>
    cells.map((text) => ({ text })),
  );
  const other = isApex ? [otherNames(provider)] : [];
  const where = provider === null ? [] : [plain(provider.where)];
  return [
    ...table(rows, 2, page.paint),
    ...[...other, ...where].flatMap((text) =>
      wrapped(text, page.columns - 2).map((line) => `  ${line}`),
    ),
  ];
}

/**
 * The record in the words in which findings expect it (core/diagnosis/words.ts), without what they add for an apex.
 * It is not made fit to be printed.
 */
export function recordAsWritten({ type, name, value, ttl }: RecordShown['record']): string {
  return `${type} ${name} → ${value}, TTL ${ttl}`;
}

/**
 * The name, and in brackets how people read it where that differs: `xn--bcher-kva (bücher)`. Forms of providers want
 * the one or the other. Fit to be printed.
 */
export function spelt(name: string): string {
  const unicode = toUnicodeName(name);
  return unicode === name ? plain(name) : `${plain(name)} (${plain(unicode)})`;
}

const FLATTENING = 'CNAME flattening';

/** The type as the provider's own form offers it for an apex. */
function typeAt(provider: RecordShown['provider']): string {
  const apex = provider?.apex ?? 'ALIAS';
  return apex === FLATTENING ? 'CNAME' : plain(apex);
}

function otherNames(provider: RecordShown['provider']): string {
  const general = 'ALIAS is also called ANAME or CNAME flattening';
  if (provider === null) return `${general}.`;
  const name = plain(provider.name);
  if (provider.apex === null) return `${general}; we know of none at ${name}.`;
  return provider.apex === FLATTENING
    ? `${name} turns a CNAME at an apex into addresses automatically (CNAME flattening).`
    : `${name} calls it ${plain(provider.apex)}.`;
}
