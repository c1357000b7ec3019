/** The DNS record to create, as a table to copy from, and what its provider calls it. */
import { toUnicodeName } from '../core/names/idna.ts';
import { type Page, plain, table, wrapped } from './layout.ts';

/** What is shown of it; `provider` where it is known who runs the zone. */
export type RecordShown = {
  readonly record: {
    readonly type: 'CNAME' | 'ALIAS';
    readonly name: string;
    readonly value: string;
    readonly ttl: bigint;
  };
  readonly provider: {
    readonly name: string;
    readonly apex: string | null;
    readonly where: string;
  } | null;
};

/** Never cut: this is what people copy. */
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

/** As findings write it (core/diagnosis/words.ts), less what they add for an apex. */
export function recordAsWritten({ type, name, value, ttl }: RecordShown['record']): string {
  return `${type} ${name} → ${value}, TTL ${ttl}`;
}

/** `xn--bcher-kva (bücher)`: forms of providers want the one or the other. */
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
