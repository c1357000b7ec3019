import { z } from 'zod';
import type { Actor, Severity } from '../core/diagnosis/findings.ts';
import type { Verdict } from '../core/life/lifecycle.ts';
import { toUnicodeName } from '../core/names/idna.ts';
import { finding } from '../http/schemas/domains.ts';
import { labeled, plain, plainSentence, type Style, type TextLayout, wrapped } from './layout.ts';

const beside = { indent: 2, labelWidth: 10 };

/** What the page already shows elsewhere. */
export type Context = {
  /** In the findings' notation; null without a record table above. */
  readonly recordAbove: string | null;
  /** Whether a CAA record names an account that could not be verified. */
  readonly accountUnknown: boolean;
};

/** An action that repeats an earlier one is replaced by a reference to that finding's code. */
export function findingSections(
  findings: readonly FindingShown[],
  context: Context,
  page: TextLayout,
): readonly (readonly string[])[] {
  return findings.map((finding, index) => {
    const todo = notTwice(finding.action, findings.slice(0, index));
    return findingLines(finding, todo, context, page);
  });
}

/** Only applies to the doctor without the service, which does not know our CA account. */
const accountNote =
  'This machine cannot verify that CA account, so the record can be correct. The service can verify it: run the check without --target, or with --url.';

/** For an apex, findings add other names of the record type in brackets. */
function isAbove(expected: string, recordAbove: string | null): boolean {
  if (recordAbove === null) return false;
  return (
    expected === recordAbove || (expected.startsWith(`${recordAbove} (`) && expected.endsWith(')'))
  );
}

const THEN = ', then ';

/** Replaces a repeated ending by a reference to the earlier finding. */
function notTwice(action: string, earlier: readonly FindingShown[]): string {
  const same = earlier.find((one) => one.action === action);
  if (same !== undefined) return `same as for ${same.code}`;
  const [first = '', ...rest] = action.split(THEN);
  const last = THEN + rest.join(THEN);
  const alike = earlier.find((one) => rest.length > 0 && one.action.endsWith(last));
  return alike === undefined ? action : `${first}${THEN}do the same as for ${alike.code}`;
}

function findingLines(
  { code, severity, actor, summary, expected, found, hints }: FindingShown,
  todo: string,
  { recordAbove, accountUnknown }: Context,
  page: TextLayout,
): readonly string[] {
  const { sign, style } = severityMarks[severity];
  const { columns, paint } = page;
  const line = (label: string, text: string) => labeled(label, plainSentence(text), beside, page);
  return [
    `${paint(style, `${sign} ${paint('bold', plain(code))}`)} ${paint('dim', `· ${severity} · ${actorWords[actor]}`)}`,
    ...wrapped(plainSentence(summary), columns - 2).map((one) => `  ${one}`),
    ...(isAbove(expected, recordAbove) ? [] : line('expected', expected)),
    ...line('found', found),
    ...hints.flatMap(({ text }) => line('likely', text)),
    ...line('to do', todo),
    ...(code === 'caa_warns' && accountUnknown ? line('note', accountNote) : []),
  ];
}

/** Codes of findings and hints are any text, so that those of later versions are shown too. */
export const shownFinding = finding.extend({
  code: z.string(),
  hints: z.array(z.object({ text: z.string() })),
});

export type FindingShown = z.infer<typeof shownFinding>;

/** The symbol carries the same information as its color. */
export type Mark = { readonly sign: string; readonly style: Style };

export const marks: { readonly [V in Verdict]: Mark } = {
  right: { sign: '✓', style: 'green' },
  wrong: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'yellow' },
};

export const severityMarks: { readonly [S in Severity]: Mark } = {
  blocks: { sign: '✗', style: 'red' },
  warns: { sign: '!', style: 'yellow' },
  informs: { sign: 'i', style: 'blue' },
};

/** A clause without a period: ends a finding's first line, or follows “Now”. */
export const actorWords: { readonly [A in Actor]: string } = {
  customer: 'the domain owner needs to act',
  dns_provider: 'the DNS provider needs to act',
  platform: 'the platform needs to act',
};

/** Added to the service's error about an invalid host name. */
export const validHostname =
  'Use a public host name such as docs.example.com: letters, digits and hyphens, separated by dots.';

type RecordShown = {
  readonly type: 'CNAME' | 'ALIAS';
  readonly name: string;
  readonly value: string;
  /** In seconds. */
  readonly ttl: bigint;
};

/** As in findings (core/diagnosis/words.ts). Not made printable. */
export function recordAsWritten({ type, name, value, ttl }: RecordShown): string {
  return `${type} ${name} → ${value}, TTL ${ttl}`;
}

/** `xn--bcher-kva (bücher)`: provider forms expect one or the other. Printable. */
export function spelt(name: string): string {
  const unicode = toUnicodeName(name);
  return unicode === name ? plain(name) : `${plain(name)} (${plain(unicode)})`;
}
