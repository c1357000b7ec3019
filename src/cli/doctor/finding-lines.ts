/** One finding: what it is called, how grave it is, what is there, what to do and who does it. */
import { labelled, type Page, plain, plainSentence, wrapped } from './layout.ts';
import type { FindingShown } from './shown.ts';
import { actorWords, severityMarks } from './words.ts';

const beside = { indent: 2, labelWidth: 10 };

export function findingLines(finding: FindingShown, page: Page): readonly string[] {
  const { code, severity, actor, summary, expected, found, action, hints } = finding;
  const { sign, style } = severityMarks[severity];
  const { columns, paint } = page;
  const line = (label: string, text: string) => labelled(label, plainSentence(text), beside, page);
  return [
    `${paint(style, `${sign} ${paint('bold', plain(code))}`)} ${paint('dim', `· ${severity}`)}`,
    ...wrapped(plainSentence(summary), columns - 2).map((one) => `  ${one}`),
    ...line('expected', expected),
    ...line('found', found),
    ...hints.flatMap(({ text }) => line('likely', text)),
    ...line('to do', action),
    ...line('who acts', actorWords[actor]),
  ];
}
