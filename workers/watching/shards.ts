/**
 * The names of the shards that this process has: read when a shard comes, kept as the database notifies, read again from
 * time to time in case a notification was lost, and forgotten when the shard goes.
 */
import type { WatchedName } from '../../src/core/watch/watched-name.ts';
import type { Watch } from '../../src/dns/watch/watch.ts';

/** What the shards need of the process that they are watched in. */
export type ShardsDeps = {
  readonly watch: Pick<Watch, 'put' | 'remove'>;
  /** Streams the names of a shard. */
  load(shard: number): AsyncIterable<readonly WatchedName[]>;
  /** Those of these that are to be watched, as they are now. */
  find(ids: readonly string[]): Promise<readonly WatchedName[]>;
  /** Called where names could not be read; they are read again later. */
  onFault(fault: unknown): void;
};

/** The shards of one process. No call rejects. */
export type Shards = {
  /** Begins with those that are new and forgets the others; resolves when all of them are read. */
  own(shards: readonly number[]): Promise<void>;
  /** A name of this shard has changed, has come or has gone. */
  changed(shard: number, id: string): void;
  /** Reads all of them again: notifications may have been missed. */
  readAll(): Promise<void>;
  /** Reads the one again that was read the longest time ago. */
  readOldest(): Promise<void>;
};

/** `ids` are watched; those in `changed` are to be read again, once the shard `isRead`. */
type Shard = { readonly ids: Set<string>; readonly changed: Set<string>; isRead: boolean };

type State = ShardsDeps & {
  /** In the order of their reading. */
  readonly owned: Map<number, Shard>;
  /** The last reading that was asked for. */
  reading: Promise<void>;
  isGathering: boolean;
};

/** Changes that come together are read together, in ms; and so many at once. Our choice. */
const GATHER_MS = 100;
const FIND_MAX = 1_000;

/** Reads nothing by itself. */
export function createShards(deps: ShardsDeps): Shards {
  const state: State = {
    ...deps,
    owned: new Map(),
    reading: Promise.resolve(),
    isGathering: false,
  };
  const { owned } = state;
  return {
    own: (numbers) => own(state, new Set(numbers)),
    changed(number, id) {
      const shard = owned.get(number);
      if (shard === undefined) return;
      shard.changed.add(id);
      if (shard.isRead) gather(state);
    },
    readAll: () => readInTurn(state, [...owned.keys()]),
    readOldest: () => readInTurn(state, [...owned.keys()].slice(0, 1)),
  };
}

function own(state: State, numbers: ReadonlySet<number>): Promise<void> {
  const { owned, watch } = state;
  for (const [number, { ids }] of owned) {
    if (numbers.has(number)) continue;
    for (const id of ids) watch.remove(id);
    owned.delete(number);
  }
  const come = [...numbers].filter((number) => !owned.has(number));
  for (const number of come) {
    owned.set(number, { ids: new Set(), changed: new Set(), isRead: false });
  }
  return come.length === 0 ? Promise.resolve() : readInTurn(state, come);
}

/** One after the other: a start would otherwise take every connection. */
function readInTurn(state: State, numbers: readonly number[]): Promise<void> {
  state.reading = state.reading.then(async () => {
    for (const number of numbers) await read(state, number).catch(state.onFault);
  });
  return state.reading;
}

/** What changes meanwhile may be older in what is read, so it is read once more after that. */
async function read(state: State, number: number): Promise<void> {
  const { owned } = state;
  const shard = owned.get(number);
  if (shard === undefined) return;
  shard.isRead = false;
  try {
    await putAll(state, number, shard);
    if (owned.get(number) !== shard) return;
    owned.delete(number);
    owned.set(number, shard);
  } finally {
    shard.isRead = true;
    gather(state);
  }
}

async function putAll(state: State, number: number, shard: Shard): Promise<void> {
  const gone = new Set(shard.ids);
  for await (const names of state.load(number)) {
    if (state.owned.get(number) !== shard) return;
    for (const name of names) {
      gone.delete(name.id);
      put(state, shard, name);
    }
  }
  for (const id of gone) drop(state, shard, id);
}

function put({ watch }: State, shard: Shard, name: WatchedName): void {
  shard.ids.add(name.id);
  watch.put(name);
}

function drop({ watch }: State, shard: Shard, id: string): void {
  shard.ids.delete(id);
  watch.remove(id);
}

/** Reads what has changed, a moment later. */
function gather(state: State): void {
  if (state.isGathering) return;
  state.isGathering = true;
  setTimeout(() => void refreshAll(state), GATHER_MS).unref();
}

/** One at a time, so that nothing older is put after something newer. */
async function refreshAll(state: State): Promise<void> {
  for (const [number, shard] of state.owned) {
    if (shard.isRead && shard.changed.size > 0) await refresh(state, number, shard);
  }
  state.isGathering = false;
  const isMore = [...state.owned.values()].some(
    ({ isRead, changed }) => isRead && changed.size > 0,
  );
  if (isMore) gather(state);
}

async function refresh(state: State, number: number, shard: Shard): Promise<void> {
  const ids = [...shard.changed].slice(0, FIND_MAX);
  for (const id of ids) shard.changed.delete(id);
  try {
    const found = new Map((await state.find(ids)).map((name) => [name.id, name]));
    if (state.owned.get(number) !== shard) return;
    for (const id of ids) {
      const name = found.get(id);
      if (name === undefined) drop(state, shard, id);
      else put(state, shard, name);
    }
  } catch (fault) {
    for (const id of ids) shard.changed.add(id);
    state.onFault(fault);
  }
}
