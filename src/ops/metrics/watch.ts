/** The watch between checks: read from what it counts, each time that metrics are asked for. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Watch } from '../../dns/watch/watch.ts';

/** What is shown of a watch. */
export type WatchReading = Pick<Watch, 'size' | 'counts' | 'crowded'>;

/** As many operators have a series: those whose names wait longest. Our choice. */
const OPERATORS_MAX = 10;

/** Registers the metrics of the watch. Returns what names the watch that is read; until then everything is 0. */
export function createWatchMetrics(registry: Registry): (watch: WatchReading) => void {
  const registers = [registry];
  let watch: WatchReading | undefined;
  new Gauge({
    name: 'signpost_watch_names',
    help: 'Names that this process watches between checks',
    registers,
    collect() {
      this.set(watch?.size() ?? 0);
    },
  });
  new Counter({
    name: 'signpost_watch_questions_total',
    help: 'Questions of the watch by outcome: answered says something about the name, unanswered is silence or a failure',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const outcome of ['answered', 'unanswered'] as const) {
        this.inc({ outcome }, watch?.counts[outcome] ?? 0);
      }
    },
  });
  new Counter({
    name: 'signpost_watch_differences_total',
    help: 'Checks brought forward because a server showed something new',
    registers,
    collect() {
      this.reset();
      this.inc(watch?.counts.differing ?? 0);
    },
  });
  new Counter({
    name: 'signpost_watch_deferred_total',
    help: 'Questions of the watch put off because an address or an operator had as many as it may',
    registers,
    collect() {
      this.reset();
      this.inc(watch?.counts.deferred ?? 0);
    },
  });
  new Gauge({
    name: 'signpost_watch_interval_factor',
    help: 'By how much the intervals of an operator’s names have grown because it holds more than its rate allows; the 10 largest',
    labelNames: ['operator'],
    registers,
    collect() {
      this.reset();
      const largest = watch?.crowded().toSorted((one, other) => other.stretch - one.stretch) ?? [];
      for (const { operator, stretch } of largest.slice(0, OPERATORS_MAX)) {
        this.set({ operator }, stretch);
      }
    },
  });
  return (next) => {
    watch = next;
  };
}
