/** What all contenders share: rows, requests and Node flags. */

/** Pets in the table at the start; a third of them in each status. */
export const PETS = 100_000;
export const CONNECTIONS = 64;
/** Size of the contenders' pools, as in src/db/engine/client.ts. */
export const POOL_SIZE = 10;

export const operations = ['list', 'same list', 'get', 'create'] as const;
export type Operation = (typeof operations)[number];

/** A request of the load, before a contender spells it. */
export type Page = {
  readonly limit: number;
  readonly status: string | null;
  /** Null: the first page. */
  readonly after: number | null;
};

export const statuses = ['available', 'pending', 'sold'] as const;

/** Result of one run of the load against one operation. Latencies in milliseconds. */
export type Load = {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly answered: number;
};
/** `cpuUs`: CPU microseconds of the contender's process per request; they vary less than a rate. */
export type Measured = Load & { readonly cpuUs: number };
