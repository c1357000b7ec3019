/** What a handler answers: a value, sent by whoever has the connection. */

/** The text of an answer as it is made, perhaps without an end. Either of the two is called, once. */
export type TextStream = {
  /** Begins. What it holds is let go of when the signal aborts, which it does once nobody reads any more. */
  readonly open: (signal: AbortSignal) => AsyncIterable<string>;
  /** Lets go of what it holds: nobody is going to read it. */
  readonly discard: () => void;
};

/**
 * `body` is rendered as JSON (bigint as digits, Date as RFC 3339); `text` is sent as it is, as JSON unless
 * `content-type` says otherwise; `stream` is sent as it comes. None of them: an answer without a body.
 */
export type ApiResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly stream?: TextStream;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is still to be done once the effect is committed, before the answer leaves. */
  readonly afterCommit?: () => Promise<void>;
  /** `body` as it is replayed for an Idempotency-Key, where it must not be stored as it is. */
  readonly replayBody?: unknown;
};
