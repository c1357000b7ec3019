/**
 * Tracks when keys were last used, and their calls of deprecated operations. Collected in memory
 * and written by a timer, so no request waits for it. A killed process loses a few seconds.
 */
import type { KeyUsageStore } from '../../db/api-keys.ts';

/** `used` and `deprecated` never throw and never wait. */
export type KeyUsage = {
  /** Called for every request. */
  used(keyId: string): void;
  deprecated(keyId: string, operationId: string): void;
  /** Writes what is due. Never rejects; failed writes are retried with the next flush. */
  flush(): Promise<void>;
  /** Stops the timer and writes everything. Never rejects. */
  close(): Promise<void>;
};

/** `log` gets a warning for each failed write. */
export type KeyUsageDeps = {
  readonly store: KeyUsageStore;
  readonly now: () => Date;
  readonly log: { warn(fields: Readonly<Record<string, unknown>>, message: string): void };
};

const FLUSH_MS = 5_000; // what a crash can lose
const WRITE_MS = 60_000; // a key's last use is written at most once a minute and process

/**
 * Starts a timer that flushes every 5 s and does not keep the process alive. `close` stops it and
 * writes the rest.
 */
export function createKeyUsage({ store, now, log }: KeyUsageDeps): KeyUsage {
  const uses = gatherUses(store, now);
  const calls = countCalls(store, now);
  let last = Promise.resolve();

  /** The two parts are written independently. Never rejects. */
  async function write(all: boolean): Promise<void> {
    const results = await Promise.allSettled([uses.write(all), calls.write()]);
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      log.warn({ err: result.reason }, 'key usage could not be written; retrying later');
    }
  }

  /** Serializes writes in the order of the calls. */
  function queue(all: boolean): Promise<void> {
    last = last.then(() => write(all));
    return last;
  }

  const timer = setInterval(() => void queue(false), FLUSH_MS).unref();
  return {
    used: uses.note,
    deprecated: calls.note,
    flush: () => queue(false),
    close() {
      clearInterval(timer);
      return queue(true);
    },
  };
}

/** The last use of one key. Times in milliseconds since 1970. */
type Use = {
  usedAt: number;
  /** Used since the last write. The clock is read once per write, so this allocates nothing. */
  noted: boolean;
  /** The stored time of use, and when it was written. */
  savedUse: number;
  writtenAt: number;
};

/** Keeps the last use of each key. A failed write is retried next time. */
function gatherUses({ saveUses }: KeyUsageStore, now: () => Date) {
  const uses = new Map<string, Use>();

  /** The clock is read once per key and write. */
  function note(keyId: string): void {
    const use = uses.get(keyId);
    if (use?.noted) return;
    const usedAt = now().getTime();
    if (use === undefined) uses.set(keyId, { usedAt, noted: true, savedUse: 0, writtenAt: 0 });
    else Object.assign(use, { usedAt, noted: true });
  }

  /** Writes the keys whose minute is over, or all of them. */
  async function write(all: boolean): Promise<void> {
    const at = now().getTime();
    for (const use of uses.values()) use.noted = false;
    const due = [...uses]
      .filter(([, { usedAt, savedUse, writtenAt }]) => {
        return usedAt > savedUse && (all || at - writtenAt >= WRITE_MS);
      })
      .map(([keyId, use]) => ({ keyId, use, usedAt: new Date(use.usedAt) }));
    if (due.length > 0) await saveUses(due.map(({ keyId, usedAt }) => ({ keyId, usedAt })));
    for (const { use, usedAt } of due) {
      Object.assign(use, { savedUse: usedAt.getTime(), writtenAt: at });
    }
    // Drops keys that are no longer used.
    for (const [keyId, { usedAt, savedUse, writtenAt }] of uses) {
      if (usedAt <= savedUse && at - writtenAt >= WRITE_MS) uses.delete(keyId);
    }
  }

  return { note, write };
}

/** Calls of one operation by one key since the last successful write. */
type Counter = { count: number; usedAt: Date };

/** Counts calls by key and operation. A failed write is added back to the counters. */
function countCalls({ addDeprecated }: KeyUsageStore, now: () => Date) {
  let counters = new Map<string, Map<string, Counter>>();

  function add(keyId: string, operationId: string, { count, usedAt }: Counter): void {
    const own = counters.get(keyId) ?? new Map<string, Counter>();
    counters.set(keyId, own);
    const counter = own.get(operationId);
    if (counter === undefined) {
      own.set(operationId, { count, usedAt });
      return;
    }
    counter.count += count;
    if (usedAt > counter.usedAt) counter.usedAt = usedAt; // counts that are added back are older
  }

  async function write(): Promise<void> {
    const taken = [...counters].flatMap(([keyId, own]) =>
      [...own].map(([operationId, counter]) => ({ keyId, operationId, ...counter })),
    );
    if (taken.length === 0) return;
    // Emptied before the write, so that concurrent calls count for the next one.
    counters = new Map();
    try {
      await addDeprecated(taken);
    } catch (fault) {
      for (const { keyId, operationId, ...counter } of taken) add(keyId, operationId, counter);
      throw fault;
    }
  }

  function note(keyId: string, operationId: string): void {
    const counter = counters.get(keyId)?.get(operationId);
    if (counter === undefined) {
      add(keyId, operationId, { count: 1, usedAt: now() });
      return;
    }
    counter.count += 1;
    counter.usedAt = now();
  }

  return { note, write };
}
