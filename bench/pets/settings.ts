/** What all contenders share: the same rows, the same requests, the same Node flags. */

/** Animals in the table when a contender begins; a third of them in each status. */
export const PETS = 100_000;
export const CONNECTIONS = 64;
/** The contenders' pools; src/db/engine/client.ts has as many. */
export const POOL_SIZE = 10;

export const operations = ['list', 'same list', 'get', 'create'] as const;
export type Operation = (typeof operations)[number];

/** What the load asks for, before a contender's own spelling of it. */
export type Page = {
  readonly limit: number;
  readonly status: string | null;
  /** Null: the first page. */
  readonly after: number | null;
};

export const statuses = ['available', 'pending', 'sold'] as const;

/** What one run of the load against one operation came to. Latencies in milliseconds. */
export type Load = {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly answered: number;
};
/** `cpuUs`: microseconds of CPU that the contender's process took for a request; it varies less than a rate does. */
export type Measured = Load & { readonly cpuUs: number };
