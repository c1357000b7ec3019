/** What a handler answers: a value. Whoever has the connection sends it. */

/** The text of an answer as it is made, perhaps without an end. Either of the two is called, once. */
export type TextStream = {
  /** Begins to make the text. What it holds is released when the signal aborts, which happens once nobody reads any more. */
  readonly open: (signal: AbortSignal) => AsyncIterable<string>;
  /** Releases what it holds, without making any text. */
  readonly discard: () => void;
};

/**
 * The answer of a handler. `body` is rendered as JSON (bigint as digits, Date as RFC 3339); `text` is sent as it is, as JSON
 * unless `content-type` says otherwise; `stream` is sent as it is made. With none of them, the answer has no body.
 */
export type ApiResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly stream?: TextStream;
  /** By lower-case names. They replace those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What is still to be done once the effect is committed, before the answer leaves. Not called for a replay, nor where the
   * handler rejected. Where it rejects itself, the client gets a fault although the effect stays.
   */
  readonly afterCommit?: () => Promise<void>;
  /** `body` as it is replayed for an Idempotency-Key, where it must not be stored as it is. */
  readonly replayBody?: unknown;
};
