/** Runs many histories concurrently, and reports how to reproduce a failing one. */
import fc from 'fast-check';
import type { Command } from './command.ts';
import { histories } from './commands.ts';
import { compareAll, nothingSeen, type Seen } from './compare.ts';
import { SECOND } from './entry.ts';
import { begin, type History } from './history.ts';
import { openSystem, type SystemOptions, type SystemUnderTest } from './system.ts';
import { pass } from './time.ts';

export type Checked = {
  readonly runs: number;
  readonly events: Readonly<Record<string, number>>;
  /** How to reproduce it, and what happened; null without a failure. */
  readonly failure: string | null;
};

export type CheckOptions = SystemOptions & {
  readonly runs: number;
  readonly seed: number;
  /** The number of concurrent histories, each in a separate database. */
  readonly systems: number;
  readonly shrinks?: boolean;
};

export async function checkHistories(options: CheckOptions): Promise<Checked> {
  const { systems, runs, seed } = options;
  const each = Math.ceil(runs / systems);
  const results = await Promise.all(
    Array.from({ length: systems }, (_, system) => checkInSystem(options, each, seed + system)),
  );
  const events: Record<string, number> = {};
  for (const one of results) count(events, one.events);
  return {
    events,
    runs: results.reduce((sum, one) => sum + one.runs, 0),
    failure: results.find(({ failure }) => failure !== null)?.failure ?? null,
  };
}

function count(into: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [type, times] of Object.entries(more)) into[type] = (into[type] ?? 0) + times;
}

async function checkInSystem(options: CheckOptions, runs: number, seed: number): Promise<Checked> {
  const system = await openSystem(options);
  let last: History | undefined;
  const events: Record<string, number> = {};
  const property = fc.asyncProperty(histories, async (commands) => {
    last = await begin(system);
    const real = { history: last, seen: nothingSeen() };
    await fc.asyncModelRun(() => ({ model: {}, real }), commands);
    await calm(last, real.seen);
    for (const { type } of last.model.events) count(events, { [type]: 1 });
  });
  try {
    const details = await fc.check(property, {
      seed,
      numRuns: runs,
      endOnFailure: options.shrinks === false,
    });
    if (!details.failed) return { runs: details.numRuns, events, failure: null };
    const shrunk = options.shrinks === false ? '' : await replay(system, details);
    const failure = [
      `MODEL_SEED=${seed} MODEL_RUNS=${details.numRuns} MODEL_SYSTEMS=1 shows it again`,
      fc.defaultReportMessage(details) ?? '',
      String(details.errorInstance ?? ''),
      shrunk,
    ].join('\n');
    return { runs: details.numRuns, events, failure };
  } finally {
    await system.close();
  }
}

async function replay(
  system: SystemUnderTest,
  { counterexample }: { readonly counterexample: [Iterable<Command>] | null },
): Promise<string> {
  const [commands] = counterexample ?? [];
  if (commands === undefined) return '';
  const history = await begin(system);
  const real = { history, seen: nothingSeen() };
  try {
    await fc.asyncModelRun(() => ({ model: {}, real }), commands);
    await calm(history, real.seen);
  } catch (fault) {
    history.log.push(String(fault));
  }
  return history.log.join('\n');
}

/** A calm end: every waiting domain gets its job and its check. */
async function calm(history: History, seen: Seen): Promise<void> {
  history.log.push('calm');
  await pass(history, history.lostAt === null ? 20 * SECOND : 75 * SECOND, 2);
  await compareAll(history, seen);
}
