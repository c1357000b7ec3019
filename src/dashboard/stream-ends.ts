/** Ends streams of events with the session that they were opened in. */
import type { TextStream } from '../http/pipeline/errors.ts';

/** The open streams of a process, by their session. */
export type StreamEnds = {
  /** The same stream, which also ends when its session does. */
  readonly bind: (sessionId: string, stream: TextStream) => TextStream;
  /** Ends the streams of a session at once. */
  readonly end: (sessionId: string) => void;
  /** Stops the timer. */
  readonly close: () => void;
};

/** What tells which sessions are open. `log` gets a warning where that could not be asked. */
export type StreamEndsDeps = {
  readonly amongOpen: (sessionIds: readonly string[]) => Promise<readonly string[]>;
  readonly log: { warn(fields: Readonly<Record<string, unknown>>, message: string): void };
};

/** One question for all streams of the process. Below the 5 s in which a session ends everywhere. */
const ASK_EVERY_MS = 4_000;

/** While the store is away, streams stay open: no event can be read either. */
export function createStreamEnds({ amongOpen, log }: StreamEndsDeps): StreamEnds {
  const open = new Map<string, Set<AbortController>>();

  function end(sessionId: string): void {
    for (const own of [...(open.get(sessionId) ?? [])]) own.abort();
  }

  async function endThoseThatEnded(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    try {
      const stillOpen = new Set(await amongOpen(ids));
      for (const id of ids) if (!stillOpen.has(id)) end(id);
    } catch (err) {
      log.warn({ err }, 'sessions could not be asked for; their streams stay open');
    }
  }

  const timer = setInterval(() => {
    void endThoseThatEnded([...open.keys()]);
  }, ASK_EVERY_MS).unref();

  function add(sessionId: string): AbortController {
    const own = new AbortController();
    const others = open.get(sessionId) ?? new Set();
    open.set(sessionId, others.add(own));
    const remove = () => {
      others.delete(own);
      if (others.size === 0 && open.get(sessionId) === others) open.delete(sessionId);
    };
    own.signal.addEventListener('abort', remove, { once: true });
    return own;
  }

  return {
    bind: (sessionId, stream) => ({
      open(signal) {
        const own = add(sessionId);
        // However the stream ends, its reader's signal aborts.
        if (signal.aborted) own.abort();
        else signal.addEventListener('abort', () => own.abort(), { once: true });
        // What this process remembers of the session may be 5 s old already.
        void endThoseThatEnded([sessionId]);
        return stream.open(own.signal);
      },
      discard: stream.discard,
    }),
    end,
    close: () => clearInterval(timer),
  };
}
