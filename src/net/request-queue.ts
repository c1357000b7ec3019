/** Serializes the requests of one connection (RFC 9112, 9.3.2: only safe requests can overlap). */
import type { Duplex } from 'node:stream';

/** Items of one connection run one by one, those of several concurrently. */
export type RequestQueue<T> = {
  /** Destroys the connection if too many wait. Drops items of a closing connection. */
  readonly take: (connection: Duplex, item: T) => void;
  /** Call it once when an item has finished. */
  readonly ended: (connection: Duplex) => void;
  readonly isBusy: (connection: Duplex) => boolean;
  /** Queued items still run. False if it already refused. */
  readonly refuseMore: (connection: Duplex) => boolean;
  /** Once after all queued items, at once if there are none. A later call replaces it. */
  readonly whenIdle: (connection: Duplex, act: () => void) => void;
};

type State<T> = {
  isBusy: boolean;
  isRefusing: boolean;
  readonly waiting: T[];
  last: (() => void) | null;
};

/**
 * `waitingMax`: per connection. Each `run` must lead to one call of `ended`. `onOverflow`: called
 * before a connection with too many items is destroyed.
 */
export function createRequestQueue<T>(
  waitingMax: number,
  run: (item: T, connection: Duplex) => void,
  onOverflow: (connection: Duplex) => void = () => {},
): RequestQueue<T> {
  const states = new WeakMap<Duplex, State<T>>();

  function stateOf(connection: Duplex): State<T> {
    const known = states.get(connection);
    if (known !== undefined) return known;
    const state = { isBusy: false, isRefusing: false, waiting: [], last: null };
    states.set(connection, state);
    return state;
  }

  function drop(state: State<T>): void {
    state.isRefusing = true;
    state.waiting.length = 0;
  }

  return {
    take(connection, item) {
      const state = stateOf(connection);
      // After what broke the connection, or after a response that closes it.
      if (state.isRefusing || !connection.writable) return;
      if (!state.isBusy) {
        state.isBusy = true;
        run(item, connection);
        return;
      }
      if (state.waiting.push(item) <= waitingMax) return;
      // Reading cannot stop within a received chunk, and each request in it would use memory.
      drop(state);
      onOverflow(connection);
      connection.destroy();
    },
    ended(connection) {
      const state = stateOf(connection);
      state.isBusy = false;
      // Closed, or closing after that response: unanswered requests must have no effect.
      if (!connection.writable) return drop(state);
      const [item] = state.waiting.splice(0, 1);
      if (item !== undefined) {
        state.isBusy = true;
        run(item, connection);
        return;
      }
      const { last } = state;
      state.last = null;
      last?.();
    },
    isBusy: (connection) => stateOf(connection).isBusy,
    refuseMore(connection) {
      const state = stateOf(connection);
      const didTake = !state.isRefusing;
      state.isRefusing = true;
      return didTake;
    },
    whenIdle(connection, act) {
      const state = stateOf(connection);
      if (state.isBusy) state.last = act;
      else act();
    },
  };
}
