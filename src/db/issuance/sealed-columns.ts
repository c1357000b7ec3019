/** All columns with sealed items: which key sealed them, and how to replace them. */
import type pg from 'pg';
import { sealedItem } from '../../core/records.ts';

/** The names are inserted into SQL unescaped, so they must come from the table below. */
export type SealedColumn = {
  /** Singular and plural. */
  readonly words: readonly [one: string, several: string];
  readonly table: string;
  readonly column: string;
  /** The primary key, its type, and a value that sorts before all others. */
  readonly key: readonly [name: string, type: 'text' | 'uuid', before: string];
};

const uuid = ['id', 'uuid', '00000000-0000-0000-0000-000000000000'] as const;

/** This order misses nothing: a webhook's rotation moves a secret to a later column. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    words: ['derived secret', 'derived secrets'],
    table: 'derived_secret',
    column: 'sealed_value',
    key: ['name', 'text', ''],
  },
  {
    words: ['account key', 'account keys'],
    table: 'acme_account',
    column: 'sealed_key',
    key: ['directory_url', 'text', ''],
  },
  {
    words: ['key of the local authority', 'keys of the local authority'],
    table: 'local_authority',
    column: 'sealed_key',
    key: ['id', 'text', ''],
  },
  {
    words: ['webhook secret', 'webhook secrets'],
    table: 'webhook',
    column: 'sealed_secret',
    key: uuid,
  },
  {
    words: ['replaced webhook secret', 'replaced webhook secrets'],
    table: 'webhook',
    column: 'sealed_old_secret',
    key: uuid,
  },
  {
    words: ['certificate key', 'certificate keys'],
    table: 'certificate',
    column: 'sealed_key',
    key: uuid,
  },
];

export type SealedCount = {
  readonly column: SealedColumn;
  /** The prefix of the items (Vault.header). */
  readonly header: Uint8Array;
  readonly count: number;
};

/** `id`: the primary key as text. */
export type SealedRow = { readonly id: string; readonly sealed: Uint8Array };
export type ResealedRow = SealedRow & { readonly resealed: Uint8Array };

/** Works without a key to open the items. */
export type SealedStore = {
  /** One statement that reads every row. Ignores values that are not sealed items. */
  count(): Promise<readonly SealedCount[]>;
  /** Rows whose items don't start with `header`, by primary key; `after` null: from the first. */
  next(
    column: SealedColumn,
    header: Uint8Array,
    page: { readonly after: string | null; readonly limit: number },
  ): Promise<readonly SealedRow[]>;
  /** Returns how many rows changed. Skips rows that are locked or changed since they were read. */
  replace(column: SealedColumn, rows: readonly ResealedRow[]): Promise<number>;
};

const { version: VERSION, headerBytes: HEADER_BYTES } = sealedItem;

const headerOf = (column: string) => `substring(${column} FOR ${HEADER_BYTES})`;
/** The empty secret of a deleted webhook has no prefix. */
const isItem = (column: string) =>
  `length(${column}) > ${HEADER_BYTES} AND substring(${column} FOR 1) = '\\x${Buffer.of(VERSION).toString('hex')}'`;

/** Each call is one statement; no lock is held between `next` and `replace`. */
export function createSealedStore(pool: Pick<pg.Pool, 'query'>): SealedStore {
  return {
    async count() {
      const { rows } = await pool.query<{ nth: number; header: Uint8Array; count: number }>(counts);
      return rows.flatMap(({ nth, header, count }) => {
        const column = sealedColumns[nth];
        return column === undefined ? [] : [{ column, header, count }];
      });
    },
    async next({ table, column, key: [key, type, before] }, header, { after, limit }) {
      const { rows } = await pool.query<SealedRow>(
        `SELECT ${key}::text AS id, ${column} AS sealed FROM ${table}
         WHERE ${key} > $1::${type} AND ${isItem(column)} AND ${headerOf(column)} <> $2
         ORDER BY ${key} LIMIT $3`,
        [after ?? before, header, limit],
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

const counts = sealedColumns
  .map(
    ({ table, column }, nth) =>
      `SELECT ${nth} AS nth, ${headerOf(column)} AS header, count(*)::int AS count
       FROM ${table} WHERE ${isItem(column)} GROUP BY header`,
  )
  .join(' UNION ALL ');

/** `1 account key and 50,000 certificate keys`; `nothing` for none. */
export function countsInWords(counted: readonly Omit<SealedCount, 'header'>[]): string {
  const sums = sealedColumns.map(({ words: [one, several] }, nth) => {
    const ofColumn = counted.filter(({ column }) => column === sealedColumns[nth]);
    const sum = ofColumn.reduce((total, { count }) => total + count, 0);
    return sum === 0 ? [] : [`${sum.toLocaleString('en')} ${sum === 1 ? one : several}`];
  });
  const parts = sums.flat();
  const last = parts.pop() ?? 'nothing';
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
}
