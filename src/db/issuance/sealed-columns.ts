/** Every column of sealed items: how many there are, sealed with which key, and how they are replaced for another key. */
import type pg from 'pg';
import { sealedItem } from '../../core/records.ts';

/** A column of sealed items. Its names go into SQL as they are, so they must come from the table below. */
export type SealedColumn = {
  /** What its items are called, one and several. */
  readonly words: readonly [one: string, several: string];
  readonly table: string;
  readonly column: string;
  /** The primary key, its type, and a value before the first one. */
  readonly key: readonly [name: string, type: 'text' | 'uuid', before: string];
  /** Whether all of its items are opened by edges. */
  readonly isOfEdges: boolean;
};

const uuid = ['id', 'uuid', '00000000-0000-0000-0000-000000000000'] as const;

/** In this order a pass misses nothing: a webhook's rotation moves a secret into a column that comes later. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    words: ['derived secret', 'derived secrets'],
    table: 'derived_secret',
    column: 'sealed_value',
    key: ['name', 'text', ''],
    isOfEdges: false,
  },
  {
    words: ['account key', 'account keys'],
    table: 'acme_account',
    column: 'sealed_key',
    key: ['directory_url', 'text', ''],
    isOfEdges: false,
  },
  {
    words: ['key of the local authority', 'keys of the local authority'],
    table: 'local_authority',
    column: 'sealed_key',
    key: ['id', 'text', ''],
    isOfEdges: false,
  },
  {
    words: ['webhook secret', 'webhook secrets'],
    table: 'webhook',
    column: 'sealed_secret',
    key: uuid,
    isOfEdges: false,
  },
  {
    words: ['replaced webhook secret', 'replaced webhook secrets'],
    table: 'webhook',
    column: 'sealed_old_secret',
    key: uuid,
    isOfEdges: false,
  },
  {
    words: ['certificate key', 'certificate keys'],
    table: 'certificate',
    column: 'sealed_key',
    key: uuid,
    isOfEdges: true,
  },
];

/** How many items of a column were sealed with the same key. */
export type SealedCount = {
  readonly column: SealedColumn;
  /** What the items begin with (Vault.header). */
  readonly header: Uint8Array;
  readonly count: number;
};

/** A row with its sealed item. `id`: its primary key as text. */
export type SealedRow = { readonly id: string; readonly sealed: Uint8Array };
/** A row, and the item that is to replace its sealed one. */
export type ResealedRow = SealedRow & { readonly resealed: Uint8Array };

/** Every sealed item of the database, read and replaced without a key to open it. */
export type SealedStore = {
  /**
   * By column and key, in one statement that reads every row of these columns; of all where none are given. What is no item of
   * the vault's is not counted.
   */
  count(columns?: readonly SealedColumn[]): Promise<readonly SealedCount[]>;
  /** The next rows of a column, by primary key, whose items begin with none of `headers`; `after` null: from the first. */
  next(
    column: SealedColumn,
    headers: readonly Uint8Array[],
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly SealedRow[]>;
  /** Returns how many rows were changed. Never waits: a row that is locked, or was changed since it was read, stays. */
  replace(column: SealedColumn, rows: readonly ResealedRow[]): Promise<number>;
};

const { version: VERSION, headerBytes: HEADER_BYTES } = sealedItem;

/** SQL for the beginning of an item, which names its key. */
const headerOf = (column: string) => `substring(${column} FOR ${HEADER_BYTES})`;
/** SQL for whether a value begins as an item of the vault's does; a deleted webhook's secret, which is empty, does not. */
const isItem = (column: string) =>
  `length(${column}) > ${HEADER_BYTES} AND substring(${column} FOR 1) = '\\x${Buffer.of(VERSION).toString('hex')}'`;

/** Each call is one statement, and nothing stays locked between `next` and `replace`. */
export function createSealedStore(pool: Pick<pg.Pool, 'query'>): SealedStore {
  return {
    async count(columns = sealedColumns) {
      const { rows } = await pool.query<{ nth: number; header: Uint8Array; count: number }>(
        countsOf(columns),
      );
      return rows.flatMap(({ nth, header, count }) => {
        const column = columns[nth];
        return column === undefined ? [] : [{ column, header, count }];
      });
    },
    async next({ table, column, key: [key, type, before] }, headers, { after, limit }) {
      const { rows } = await pool.query<SealedRow>(
        `SELECT ${key}::text AS id, ${column} AS sealed FROM ${table}
         WHERE ${key} > $1::${type} AND ${isItem(column)} AND ${headerOf(column)} <> ALL($2::bytea[])
         ORDER BY ${key} LIMIT $3`,
        [after ?? before, headers, limit],
      );
      return rows;
    },
    async replace({ table, column, key: [key, type] }, rows) {
      const { rowCount } = await pool.query(
        `WITH given AS (
           SELECT id::${type} AS id, was, sealed FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS given (id, was, sealed)
         ), free AS (
           SELECT ${key} AS id FROM ${table} WHERE ${key} IN (SELECT id FROM given) FOR NO KEY UPDATE SKIP LOCKED
         )
         UPDATE ${table} SET ${column} = given.sealed FROM given JOIN free USING (id)
         WHERE ${table}.${key} = given.id AND ${table}.${column} = given.was`,
        [
          rows.map(({ id }) => id),
          rows.map(({ sealed }) => sealed),
          rows.map(({ resealed }) => resealed),
        ],
      );
      return rowCount ?? 0;
    },
  };
}

const countsOf = (columns: readonly SealedColumn[]): string =>
  columns
    .map(
      ({ table, column }, nth) =>
        `SELECT ${nth} AS nth, ${headerOf(column)} AS header, count(*)::int AS count
         FROM ${table} WHERE ${isItem(column)} GROUP BY header`,
    )
    .join(' UNION ALL ');

/** Counts for people, in the order of the columns: `1 account key and 50,000 certificate keys`; `nothing` for none. */
export function inWords(counted: readonly Omit<SealedCount, 'header'>[]): string {
  const sums = sealedColumns.map(({ words: [one, several] }, nth) => {
    const ofColumn = counted.filter(({ column }) => column === sealedColumns[nth]);
    const sum = ofColumn.reduce((total, { count }) => total + count, 0);
    return sum === 0 ? [] : [`${sum.toLocaleString('en')} ${sum === 1 ? one : several}`];
  });
  const parts = sums.flat();
  const last = parts.pop() ?? 'nothing';
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
}
