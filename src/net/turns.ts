/** What comes on one connection, taken one at a time and in its order (RFC 9112, 9.3.2: only safe requests may overlap). */
import type { Duplex } from 'node:stream';

/** The items of many connections: those of one connection run one after the other, those of several at once. */
export type Turns<T> = {
  /**
   * Runs an item at once where nothing of its connection runs, else in its turn. The connection is destroyed where more
   * wait than may, and the item is dropped where the connection is closed, closing, or refuses more.
   */
  readonly take: (connection: Duplex, item: T) => void;
  /** To be called once for each item that ran, when it is over: the next one runs. */
  readonly ended: (connection: Duplex) => void;
  /** Whether an item of the connection runs. */
  readonly isBusy: (connection: Duplex) => boolean;
  /** Takes nothing more of a connection; what waits still runs. False where it took nothing more already. */
  readonly refuseMore: (connection: Duplex) => boolean;
  /** Runs once after everything that runs or waits now, at once where nothing does. The last one to be given counts. */
  readonly whenIdle: (connection: Duplex, act: () => void) => void;
};

type State<T> = {
  isBusy: boolean;
  isRefusing: boolean;
  readonly waiting: T[];
  last: (() => void) | null;
};

/**
 * `waitingMax`: per connection, beside the item that runs. `run` must lead to one call of `ended`. `onOverflow` is called
 * before a connection is destroyed for having too many.
 */
export function createTurns<T>(
  waitingMax: number,
  run: (item: T, connection: Duplex) => void,
  onOverflow: (connection: Duplex) => void = () => {},
): Turns<T> {
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
      // It came in the same read as what broke the connection, or behind an answer that closes it.
      if (state.isRefusing || !connection.writable) return;
      if (!state.isBusy) {
        state.isBusy = true;
        run(item, connection);
        return;
      }
      if (state.waiting.push(item) <= waitingMax) return;
      // Reading cannot be stopped in the middle of what has arrived, and each request in it would take memory.
      drop(state);
      onOverflow(connection);
      connection.destroy();
    },
    ended(connection) {
      const state = stateOf(connection);
      state.isBusy = false;
      // Closed, or closing behind that answer: what is not answered must have no effect.
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
