/**
 * I6: memory and descriptors return to within 10% of their baseline. Memory is heap and external
 * memory after two collections. Process size is also checked, but V8 keeps its young generation:
 * three times --max-semi-space-size, 192 MB here. A floor for each covers caches and connections; a
 * fault that fills caches states by how much.
 */
import type { Role } from '../../../src/core/operations/roles.ts';
import type { Fault, World } from '../fault.ts';
import type { Measured, Place } from '../system/roles.ts';
import { sleep } from '../system/wait.ts';
import type { Invariant } from './invariant.ts';

const MB = 1_000_000;
const limits = {
  heapBytes: { share: 0.1, floor: 12 * MB, unit: MB, words: 'MB of heap' },
  rssBytes: { share: 0.1, floor: 200 * MB, unit: MB, words: 'MB of memory' },
  descriptors: { share: 0.1, floor: 20, unit: 1, words: 'descriptors' },
} as const;
type Kind = keyof typeof limits;
const kindsOfMeasure = Object.keys(limits) as Kind[]; // the object has no other keys

const SETTLE_MS = 60_000;
const MEASURE_EVERY_MS = 3_000;

export type Baseline = Readonly<Record<Role, Measured>>;

/** The maximum per role, because any process of it may be a restarted one. */
export async function measureBaseline(places: readonly Place[]): Promise<Baseline> {
  const measured = await measureAll(places);
  const most = (role: Role) => {
    const own = measured.filter(({ place }) => place.role === role).map(({ at }) => at);
    const max = (kind: Kind) => Math.max(...own.map((one) => one[kind]));
    return {
      heapBytes: max('heapBytes'),
      rssBytes: max('rssBytes'),
      descriptors: max('descriptors'),
    };
  };
  return { api: most('api'), worker: most('worker'), edge: most('edge') };
}

export function resourcesWithin(baseline: Baseline): Invariant {
  /** Per worker heap, by all faults so far. */
  let filledBytes = 0;
  return {
    id: 'I6',
    words: 'memory and descriptors are back to within 10 %',
    async check({ system }: World, { fillsCachesMb = 0 }: Fault) {
      filledBytes += fillsCachesMb * MB;
      const { worker } = baseline;
      const filled = { ...worker, heapBytes: worker.heapBytes + filledBytes };
      const wanted = { ...baseline, worker: filled };
      const deadline = performance.now() + SETTLE_MS;
      for (;;) {
        const above = (await measureAll(system.places)).flatMap(({ place, at }) =>
          kindsOfMeasure.flatMap((kind) => exceeded(place, kind, wanted[place.role], at)),
        );
        if (above.length === 0 || performance.now() > deadline) return above;
        await sleep(MEASURE_EVERY_MS);
      }
    },
  };
}

function exceeded(place: Place, kind: Kind, before: Measured, now: Measured): string[] {
  const { share, floor, unit, words } = limits[kind];
  const allowed = before[kind] + Math.max(floor, share * before[kind]);
  if (now[kind] <= allowed) return [];
  const shown = (value: number) => Math.round(value / unit);
  return [`${place.name}: ${shown(before[kind])} ${words} became ${shown(now[kind])}`];
}

async function measureAll(places: readonly Place[]) {
  const measured: { place: Place; at: Measured }[] = [];
  // One at a time: a collection takes CPU time from the next measurement.
  for (const place of places) measured.push({ place, at: await place.measure() });
  return measured;
}
