/** Output of a run: a block per fault, a summary, and docs/measured/reliability.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { isPair } from './fault.ts';
import type { Invariant } from './invariants/invariant.ts';
import type { Options } from './options.ts';
import type { Outcome } from './run-fault.ts';
import { findSection, withSection } from './signals/section.ts';

type Skipped = { readonly name: string; readonly reason: string };

export type Run = {
  readonly options: Options;
  readonly invariants: readonly Invariant[];
  readonly outcomes: readonly Outcome[];
  readonly skipped: readonly Skipped[];
  readonly minutes: number;
};

export function outcomeInWords(outcome: Outcome): string {
  const { fault, seen, slow, checks } = outcome;
  const violated = checks.filter(({ violations }) => violations.length > 0);
  const lines = [
    `${violated.length === 0 ? 'ok  ' : 'FAIL'} ${fault.name}: ${[recovery(outcome), ...seen].join('; ')}`,
    ...slow.map((each) => `       slower than the goal: ${each}`),
    ...violated.flatMap(({ id, words, violations }) => [
      `       ${id}: ${words}`,
      ...violations.map((each) => `         - ${each}`),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** The command that repeats the run. */
export function commandFor({ seed, domains, minutes: asked }: Options, name?: string): string {
  const [many, minutes] = [process.env['MANY'], name === undefined ? asked : null];
  const chosen = [
    name && `FAULTS=${name}`,
    minutes && `MINUTES=${minutes}`,
    many && `MANY=${many}`,
  ].filter(Boolean);
  return ['', `SEED=${seed}`, `DOMAINS=${domains}`, ...chosen, 'npm run test:faults']
    .join(' ')
    .trim();
}

export function countChecks(outcomes: readonly Outcome[]): { passed: number; failed: number } {
  const checks = outcomes.flatMap((outcome) => outcome.checks);
  const failed = checks.filter(({ violations }) => violations.length > 0).length;
  return { passed: checks.length - failed, failed };
}

/** Keeps what `npm run test:signals` wrote into the page. */
export function writeReport(path: string, run: Run): void {
  const signals = existsSync(path) ? findSection(readFileSync(path, 'utf8')) : null;
  const page = inMarkdown(run);
  writeFileSync(path, signals === null ? page : withSection(page, signals));
}

function inMarkdown({ options, invariants, outcomes, skipped, minutes }: Run): string {
  const { passed, failed } = countChecks(outcomes);
  const command = commandFor(options, options.faults?.join(','));
  const [alone, pairs] = [
    outcomes.filter(({ fault }) => !isPair(fault)),
    outcomes.filter(({ fault }) => isPair(fault)),
  ];
  const lines = [
    '# Reliability',
    '',
    'What happens when things fail, and how long recovery takes. `REPORT=docs/measured/reliability.md npm run test:faults` writes this page.',
    '',
    `\`${command}\`, ${new Date().toISOString().slice(0, 10)}, ${machine()}: ${outcomes.length} faults in ${minutes} minutes,`,
    `${passed} checks passed, ${failed} failed.`,
    '',
    `**Setup.** One \`api\`, three \`worker\` and two \`edge\` processes with ${options.domains} domains in every state, under load. “Works again after”`,
    'counts from the end of the fault until every process is ready, no work is late, and both edges serve a new live domain.',
    'Repairs by the reconciler take up to 45 s longer in production, because `TIME_SCALE` is 240.',
    '',
    '**Checked after each fault:** only tolerated requests fail, and everything works again.',
    '',
    ...invariants.map(({ id, words }) => `- **${id}:** ${words}.`),
    '',
    '## Each fault alone',
    '',
    ...table(alone),
    ...(pairs.length === 0 ? [] : ['', '## Two at a time', '', ...table(pairs)]),
    ...(skipped.length === 0
      ? []
      : ['', '## Not run', '', ...skipped.map(({ name, reason }) => `- \`${name}\`: ${reason}`)]),
  ];
  return `${lines.join('\n')}\n`;
}

function table(outcomes: readonly Outcome[]): string[] {
  return [
    '| fault | what is done | passes when | works again after | seen |',
    '|---|---|---|---|---|',
    ...outcomes
      .toSorted((one, other) => (one.fault.name < other.fault.name ? -1 : 1))
      .map((outcome) => {
        const { fault, seen, slow, checks, recoverySeconds } = outcome;
        const violated = checks.filter(({ violations }) => violations.length > 0);
        const noted = [
          ...seen,
          ...slow.map((each) => `slower than the goal: ${each}`),
          ...violated.map(({ id }) => `violated: ${id}`),
        ].join('; ');
        const after = recoverySeconds === null ? 'never' : `${recoverySeconds.toFixed(1)} s`;
        return `| \`${fault.name}\` | ${fault.what} | ${fault.pass} | ${after} | ${noted} |`;
      }),
  ];
}

function recovery({ recoverySeconds }: Outcome): string {
  return recoverySeconds === null
    ? 'it did not recover'
    : `works again after ${recoverySeconds.toFixed(1)} s`;
}

function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores, ${gigabytes} GB, Node ${process.version}`;
}
