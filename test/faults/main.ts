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
import { type Fault, isPair, type World } from './fault.ts';
import { allFaults } from './faults.ts';
import { accepted } from './invariants/accepted.ts';
import { histories } from './invariants/histories.ts';
import type { Invariant } from './invariants/invariant.ts';
import { orders } from './invariants/orders.ts';
import { reconciler } from './invariants/reconciler.ts';
import { measureBaseline, resourcesWithin } from './invariants/resources.ts';
import { writes } from './invariants/writes.ts';
import { type Options, readOptions } from './options.ts';
import { createRandom } from './random.ts';
import { commandFor, countChecks, outcomeInWords, type Run, writeReport } from './report.ts';
import { type Outcome, runFault } from './run-fault.ts';
import { schedule, whyNot } from './schedule.ts';
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
