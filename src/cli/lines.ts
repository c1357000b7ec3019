/** Findings and records in lines: what each finding is called and asks for, and the record as a table to copy from. */
import { z } from 'zod';
import type { Actor, Severity } from '../core/diagnosis/findings.ts';
import type { Verdict } from '../core/life/lifecycle.ts';
import { toUnicodeName } from '../core/names/idna.ts';
import { finding } from '../http/schemas/domains.ts';
import { labelled, type Page, plain, plainSentence, type Style, table, wrapped } from './layout.ts';

const beside = { indent: 2, labelWidth: 10 };

/** What of a finding the page shows elsewhere already, and what the page knows beside it. */
export type Context = {
  /** The record of the table above as findings write it; null where there is no table. */
  readonly recordAbove: string | null;
  /** Whether a CAA record names an account that could not be compared with ours. */
  readonly accountUntold: boolean;
};

/**
 * The lines of each finding, in the order given. An action, or the end of one, that an earlier finding has as well is
 * written once; the later one refers to it by its code.
 */
export function findingSections(
  findings: readonly FindingShown[],
  context: Context,
  page: Page,
): readonly (readonly string[])[] {
  return findings.map((finding, index) => {
    const todo = notTwice(finding.action, findings.slice(0, index));
    return findingLines(finding, todo, context, page);
  });
}

/** Only the doctor without the service has this doubt: it does not know our account. */
const accountNote =
  'From here that account cannot be compared with ours, so it may be right. The service knows ours: ask it, without --target or with --url.';

/** At an apex findings add in brackets what the types are called elsewhere, as the page does below the table. */
function isAbove(expected: string, recordAbove: string | null): boolean {
  if (recordAbove === null) return false;
  return (
    expected === recordAbove || (expected.startsWith(`${recordAbove} (`) && expected.endsWith(')'))
  );
}

const THEN = ', then ';

/** What is to be done, and where it ends as that of an earlier finding does, where that stands. */
function notTwice(action: string, earlier: readonly FindingShown[]): string {
  const same = earlier.find((one) => one.action === action);
  if (same !== undefined) return `as for ${same.code}`;
  const [first = '', ...rest] = action.split(THEN);
  const last = THEN + rest.join(THEN);
  const alike = earlier.find((one) => rest.length > 0 && one.action.endsWith(last));
  return alike === undefined ? action : `${first}${THEN}as for ${alike.code}`;
}

function findingLines(
  { code, severity, actor, summary, expected, found, hints }: FindingShown,
  todo: string,
  { recordAbove, accountUntold }: Context,
  page: Page,
): readonly string[] {
  const { sign, style } = severityMarks[severity];
  const { columns, paint } = page;
  const line = (label: string, text: string) => labelled(label, plainSentence(text), beside, page);
  return [
    `${paint(style, `${sign} ${paint('bold', plain(code))}`)} ${paint('dim', `· ${severity} · ${actorWords[actor]}`)}`,
    ...wrapped(plainSentence(summary), columns - 2).map((one) => `  ${one}`),
    ...(isAbove(expected, recordAbove) ? [] : line('expected', expected)),
    ...line('found', found),
    ...hints.flatMap(({ text }) => line('likely', text)),
    ...line('to do', todo),
    ...(code === 'caa_warns' && accountUntold ? line('note', accountNote) : []),
  ];
}

/**
 * A finding as the command line reads it. Codes of findings and hints are any text, so that those of a later version
 * are shown, too; severity and actor have to be known ones.
 */
export const shownFinding = finding.extend({
  code: z.string(),
  hints: z.array(z.object({ text: z.string() })),
});

/** A finding that `shownFinding` has read. */
export type FindingShown = z.infer<typeof shownFinding>;

/** A sign that says by its shape what its color says, too. */
export type Mark = { readonly sign: string; readonly style: Style };

/** What stands before a name that was checked. */
export const marks: { readonly [V in Verdict]: Mark } = {
  right: { sign: '✓', style: 'green' },
  wrong: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'yellow' },
};

/** What stands before a finding. */
export const severityMarks: { readonly [S in Severity]: Mark } = {
  blocks: { sign: '✗', style: 'red' },
  warns: { sign: '!', style: 'yellow' },
  informs: { sign: 'i', style: 'blue' },
};

/** Who has to act, as a clause without a period: at the end of a finding's first line, or after “Now”. */
export const actorWords: { readonly [A in Actor]: string } = {
  customer: 'the owner of the domain acts',
  dns_provider: 'the DNS provider acts',
  platform: 'the platform acts',
};

/** A sentence for whoever gave no valid host name: the service says only what is wrong with the one that was given. */
export const validHostname =
  'Give a public host name such as docs.example.com: letters, digits and hyphens, with dots between.';

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
  /** The TXT record beside it; null or missing: none is needed. */
  readonly proofRecord?:
    | {
        readonly type: 'TXT';
        readonly name: string;
        readonly value: string;
        readonly ttl: bigint;
      }
    | null
    | undefined;
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
 * A table of the record, the TXT record beside it where one is needed, and below them what the provider calls it and where it is entered. Names and values are never
 * cut, because people copy them: the table may be wider than the page.
 */
export function recordLinesOf(
  { record, proofRecord, provider }: RecordShown,
  page: Page,
): readonly string[] {
  const isApex = record.type === 'ALIAS';
  const shown = { ...record, type: isApex ? typeAt(provider) : record.type };
  const rows = [
    ['Type', 'Name', 'Value', 'TTL'],
    ...[shown, ...(proofRecord ? [proofRecord] : [])].map(({ type, name, value, ttl }) => [
      type,
      spelt(name),
      plain(value),
      String(ttl),
    ]),
  ].map((cells) => cells.map((text) => ({ text })));
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
