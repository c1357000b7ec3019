/**
 * `npm run sim:ladder`: how late our retry schedule and those of others notice correct DNS, and how many queries
 * they send. Every schedule gets the same domains (arrivals.ts).
 */
import { type Ladder, ours, questions, rivals } from './ladders.ts';
import { compare, type Figures, simulate } from './simulate.ts';

const own = simulate(ours);
const simulated = rivals.map((rival) => ({ rival, figures: simulate(rival) }));
const lines = [
  'Lag: from the moment the DNS is right to the check that finds it. Checks and questions: until then (found), and in 48 h at a',
  'domain that never comes (never). The check at adding is not counted. Given up early: found after 48 h, at the best.',
  '',
  '| ladder | mean lag | median | p95 | missed | checks, found | checks, never | by checks | questions, found | questions, never | by questions |',
  '|---|---|---|---|---|---|---|---|---|---|---|',
  row(ours, own, () => '–'),
  ...simulated.map(({ rival, figures }) => row(rival, figures, (by) => compare(own, figures, by))),
  '',
  `Questions of our checks (two name servers): ${words(questions)}. 1 of a rival's check, a lower bound.`,
  'Beaten is who asks as often or less, by either count, and is later both in the mean and at p95.',
];
process.stdout.write(`${lines.join('\n')}\n`);

type Counted = 'checks' | 'questions';

function row({ name }: Ladder, figures: Figures, verdict: (by: Counted) => string): string {
  const { meanMs, medianMs, p95Ms, missed } = figures;
  const lags = [meanMs, medianMs, p95Ms].map(duration);
  const asked = (['checks', 'questions'] as const).flatMap((by) => [
    count(figures[by]),
    count(figures[`${by}Never`]),
    verdict(by),
  ]);
  return `| ${[name, ...lags, `${(100 * missed).toFixed(1)} %`, ...asked].join(' | ')} |`;
}

function words(named: Readonly<Record<string, number>>): string {
  return Object.entries(named)
    .map(([name, number]) => `${name} ${number}`)
    .join(', ');
}

function duration(ms: number): string {
  const units = [
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const;
  const [size, unit] = units.find(([least]) => ms >= 2 * least) ?? [1_000, 's'];
  return `${(ms / size).toFixed(1)} ${unit}`;
}

function count(value: number): string {
  return value < 100 ? value.toFixed(1) : String(Math.round(value));
}
