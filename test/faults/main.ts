/**
 * `npm run test:faults`: faults under load, and what must hold after each. FAULTS=name,name…
 * selects (`one+other`: two at a time), SEED=… repeats a run, MINUTES=… limits the time, DOMAINS=…
 * sets their number, REPORT=… writes a page.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missing } from '../support/programs.ts';
import { createEndings } from './endings.ts';
import { canCombine, combine, type Fault, isPair, type World } from './fault.ts';
import { allFaults } from './faults.ts';
import { histories } from './invariants/histories.ts';
import type { Invariant } from './invariants/invariant.ts';
import { orders } from './invariants/orders.ts';
import { reconciler } from './invariants/reconciler.ts';
import { measureBaseline, resourcesWithin } from './invariants/resources.ts';
import { accepted, writes } from './invariants/writes.ts';
import { type Options, readOptions } from './options.ts';
import { createRandom, type Random } from './random.ts';
import { commandFor, countChecks, outcomeInWords, type Run, writeReport } from './report.ts';
import { type Outcome, runFault } from './run-fault.ts';
import { sleep } from './system/wait.ts';
import { openWorld } from './world.ts';

/** Fills caches before the baseline is measured. */
const WARM_UP_MS = 5_000;

const print = (line: string) => void process.stdout.write(`${line}\n`);
const endings = createEndings(print);
let ending = false;
/** Removed again unless it holds useful logs. */
const folder = mkdtempSync(join(tmpdir(), 'signpost-faults-'));
const forget = () => rmSync(folder, { recursive: true, force: true });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end(130));
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (fault: unknown) => {
    if (!ending) process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`);
    end(1);
  });
}
end(await main());

/** Ends everything that was started; failures on the way do not matter. */
function end(code: number): void {
  if (ending) return;
  ending = true;
  void endings.run().then(() => {
    if (code !== 1) forget();
    process.exit(code);
  });
}

async function main(): Promise<number> {
  const lacking = (['postgres', 'redis-server', 'pebble'] as const).flatMap(
    (name) => missing(name) ?? [],
  );
  if (lacking.length > 0) {
    print(`nothing was run: ${lacking.join('; ')}`);
    print(`tests: 0 passed, 0 failed, ${allFaults.length} skipped`);
    return 0;
  }
  const names = allFaults.map(({ name }) => name);
  const options = readOptions(process.env, names);
  if (typeof options === 'string') {
    print(options);
    return 2;
  }
  print(`seed ${options.seed}, ${options.domains} domains, logs in ${folder}`);
  const result = await run(options);
  await endings.run();
  return printResult(result);
}

async function run(options: Options): Promise<Run> {
  const random = createRandom(options.seed);
  const planned = schedule(allFaults, options, random);
  const startedAt = performance.now();
  const world = await openWorld({ options, folder, random, endings });
  await sleep(WARM_UP_MS);
  const baseline = await measureBaseline(world.system.places);
  const invariants = [accepted, writes, histories, orders, reconciler, resourcesWithin(baseline)];
  print(`everything runs after ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  const result = (outcomes: Run['outcomes'], skipped: Run['skipped']): Run => {
    const minutes = Math.round((performance.now() - startedAt) / 60_000);
    return { options, invariants, outcomes, skipped, minutes };
  };
  // Written as it goes, so that an interrupted run is not lost.
  const note = (outcomes: Run['outcomes'], skipped: Run['skipped']) => {
    if (options.report !== null) writeReport(options.report, result(outcomes, skipped));
  };
  return result(...(await runAll(world, { options, planned, invariants, note })));
}

type Plan = {
  readonly options: Options;
  readonly planned: readonly Fault[];
  readonly invariants: readonly Invariant[];
  readonly note: (outcomes: Run['outcomes'], skipped: Run['skipped']) => void;
};

async function runAll(
  world: World,
  { options, planned, invariants, note }: Plan,
): Promise<[Outcome[], Run['skipped']]> {
  const outcomes: Outcome[] = [];
  const skipped: { name: string; reason: string }[] = [];
  const beganAt = performance.now();
  for (const [index, fault] of planned.entries()) {
    const reason = fault.cannotRun?.(world.system) ?? whyNot(fault, options, beganAt);
    if (reason !== null) {
      // Only single faults are worth reporting as skipped; there are always more pairs.
      if (!isPair(fault)) skipped.push({ name: fault.name, reason });
      continue;
    }
    const outcome = await runFault(world, fault, invariants);
    outcomes.push(outcome);
    const later = planned.slice(index + 1).filter((one) => !isPair(one));
    const unrun = later.map(({ name }) => ({ name, reason: 'the run ended before it' }));
    note(outcomes, [...skipped, ...unrun]);
    print(outcomeInWords(outcome).trimEnd());
    // Further faults say nothing about a system that does not work.
    if (outcome.recoverySeconds === null) break;
  }
  return [outcomes, skipped];
}

function printResult(result: Run): number {
  const { options, outcomes, skipped } = result;
  const { passed, failed } = countChecks(outcomes);
  if (options.report !== null) writeReport(options.report, result);
  for (const reason of new Set(skipped.map((one) => one.reason))) {
    const names = skipped.filter((one) => one.reason === reason).map(({ name }) => name);
    print(`not run, because ${reason}: ${names.join(', ')}`);
  }
  if (failed > 0) printViolations(result);
  print(`tests: ${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}

function printViolations({ options, outcomes }: Run): void {
  print(`\nviolated, with seed ${options.seed}; logs in ${folder}:`);
  for (const { fault, checks } of outcomes) {
    const violated = checks.filter(({ violations }) => violations.length > 0);
    if (violated.length === 0) continue;
    print(`  ${fault.name}: ${violated.map(({ id, words }) => `${id} (${words})`).join('; ')}`);
    print(`    ${commandFor(options, fault.name)}`);
  }
}

/* Selects and orders the faults by seed, so that the same seed repeats a run. */

/** After all single faults, without a time limit. */
const PAIRS = 10;
/** Maximum with a time limit. */
const PAIRS_MAX = 1_000;
/** On top of the fault itself: recovery and invariants. */
const CHECKS_SECONDS = 25;

/** Those of FAULTS in the given order; otherwise each one in random order, then pairs. */
export function schedule(all: readonly Fault[], options: Options, random: Random): Fault[] {
  const named = new Map(all.map((fault) => [fault.name, fault]));
  const find = (name: string) => {
    const fault = named.get(name);
    if (fault === undefined) throw new Error(`no fault is named ${name}`);
    return fault;
  };
  if (options.faults !== null) {
    return options.faults.map((name) =>
      name
        .split('+')
        .map(find)
        .reduce((one, other) => combine(one, other)),
    );
  }
  const alone = random.shuffled(all);
  return [...alone, ...pairs(all, options.minutes === null ? PAIRS : PAIRS_MAX, random)];
}

/** Why it is skipped; null if it runs. Named faults always run, as do all without a time limit. */
export function whyNot(fault: Fault, { minutes, faults }: Options, beganAt: number): string | null {
  if (minutes === null || faults !== null) return null;
  const leftSeconds = minutes * 60 - (performance.now() - beganAt) / 1_000;
  return fault.seconds + CHECKS_SECONDS <= leftSeconds ? null : 'no time was left';
}

function pairs(all: readonly Fault[], count: number, random: Random): Fault[] {
  const possible = all.flatMap((one, index) =>
    all.slice(index + 1).flatMap((other) => (canCombine(one, other) ? [combine(one, other)] : [])),
  );
  return random.shuffled(possible).slice(0, count);
}
