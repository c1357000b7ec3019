/** Records when keys are used. A timer writes, so requests do not wait; a crash loses FLUSH_MS. */
import { MINUTE } from '../../core/time.ts';
import { createKeyUsageStore, type KeyUsageStore } from '../../db/api-keys.ts';
import type { Service } from '../../service/service.ts';

const FLUSH_MS = 5_000; // what a crash can lose
const WRITE_MS = MINUTE; // a key's last use is written at most once per minute and process

export function createKeyUsage(
  { database, log, now }: Pick<Service, 'database' | 'log' | 'now'>,
  store: KeyUsageStore = createKeyUsageStore(database.prisma),
) {
  const uses = gatherUses(store, now);
  const calls = countCalls(store, now);
  let last = Promise.resolve();

  async function write(all: boolean): Promise<void> {
    const results = await Promise.allSettled([uses.write(all), calls.write()]);
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      log.warn({ err: result.reason }, 'key usage could not be written; retrying later');
    }
  }

  function queue(all: boolean): Promise<void> {
    last = last.then(() => write(all));
    return last;
  }

  const timer = setInterval(() => void queue(false), FLUSH_MS).unref();
  return {
    used: uses.note,
    deprecated: calls.note,
    /** Never rejects. The next flush retries failed writes. */
    flush: () => queue(false),
    /** Stops the timer and writes everything. Never rejects. */
    close(): Promise<void> {
      clearInterval(timer);
      return queue(true);
    },
  };
}

/** `used` and `deprecated` never throw or wait. */
export type KeyUsage = ReturnType<typeof createKeyUsage>;

/** Times in milliseconds since 1970. */
type Use = {
  usedAt: number;
  /** Used since the last write. The clock is read once per write, so this allocates nothing. */
  noted: boolean;
  /** The stored time of use, and when it was written. */
  savedUse: number;
  writtenAt: number;
};

function gatherUses({ saveUses }: KeyUsageStore, now: () => Date) {
  const uses = new Map<string, Use>();

  function note(keyId: string): void {
    const use = uses.get(keyId);
    if (use?.noted) return;
    const usedAt = now().getTime();
    if (use === undefined) uses.set(keyId, { usedAt, noted: true, savedUse: 0, writtenAt: 0 });
    else Object.assign(use, { usedAt, noted: true });
  }

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

type Counter = { count: number; usedAt: Date };

/** A failed write is added back to the counters. */
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
    // Emptied before the write: calls during the write count for the next one.
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
