/**
 * I6: memory and descriptors are back to what they were before the first fault, within 10 %. Memory is the heap and what it
 * holds outside of it after two collections. The size of the process is checked, too, but V8 keeps the room of its young
 * generation: three times --max-semi-space-size, 192 MB here. Each has a floor, below which caches that fill and connections
 * that come and go are no leak; a fault that fills a worker's caches says by how much.
 */
import type { Fault, World } from '../fault.ts';
import type { Measured, Place, Role } from '../system/roles.ts';
import { sleep } from '../system/wait.ts';
import type { Invariant } from './invariant.ts';

const MB = 1_000_000;
const limits = {
  heapBytes: { share: 0.1, floor: 12 * MB, unit: MB, words: 'MB of heap' },
  rssBytes: { share: 0.1, floor: 200 * MB, unit: MB, words: 'MB of memory' },
  descriptors: { share: 0.1, floor: 20, unit: 1, words: 'descriptors' },
} as const;
type Kind = keyof typeof limits;
const kindsOfMeasure = Object.keys(limits) as Kind[]; // the object has no others

const SETTLE_MS = 60_000;
const MEASURE_EVERY_MS = 3_000;

export type Baseline = Readonly<Record<Role, Measured>>;

/** The most of each role, because a process that was started again may be any of them. */
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
  /** Of each worker's heap, by the faults so far. */
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
  // One after the other: a collection takes the processor of what is measured next.
  for (const place of places) measured.push({ place, at: await place.measure() });
  return measured;
}
