/** Re-encrypts items with the first key, without downtime (docs/decisions/0018-key-rotation.md). */

import {
  type SealedColumn,
  type SealedCount,
  type SealedRow,
  type SealedStore,
  sealedColumns,
} from '../../db/issuance/sealed-columns.ts';
import { isCertificateFault } from '../fault.ts';
import type { Vault } from './vault.ts';

/** Some 200 KiB of keys, locked for a few milliseconds. */
const AT_ONCE = 500;
/** The next pass retries rows that were locked or changed. */
const PASSES_MAX = 5;

/** `vault`: the new key first, then the old ones. */
export type ResealDeps = {
  readonly store: SealedStore;
  readonly vault: Vault;
  /** Called after every batch with the number of items resealed in this pass. */
  readonly onProgress: (column: SealedColumn, done: number) => void;
};

export type Resealed = {
  /** Per column and pass. */
  readonly done: readonly Omit<SealedCount, 'header'>[];
  /** Items still sealed with another key, including unreadable ones. */
  readonly left: readonly SealedCount[];
  /** Damaged rows, or copied from another row. */
  readonly unreadable: readonly { readonly column: SealedColumn; readonly id: string }[];
};

/** Can be stopped and repeated at any time, and run concurrently. Rejects if the database fails. */
export async function reseal(deps: ResealDeps): Promise<Resealed> {
  const done: Omit<SealedCount, 'header'>[] = [];
  let unreadable: Resealed['unreadable'] = [];
  let left = await countOthers(deps);
  for (let pass = 1; sumOf(left) > unreadable.length && pass <= PASSES_MAX; pass += 1) {
    unreadable = [];
    for (const column of sealedColumns) {
      const passed = await resealColumn(deps, column);
      done.push({ column, count: passed.count });
      unreadable = [...unreadable, ...passed.unreadable.map((id) => ({ column, id }))];
    }
    left = await countOthers(deps);
  }
  return { done, left, unreadable };
}

export function sealedWithOthers(
  { header: first }: Vault,
  counted: readonly SealedCount[],
): readonly SealedCount[] {
  return counted.filter(({ header }) => !Buffer.from(header).equals(first));
}

export function sumOf(counted: readonly Omit<SealedCount, 'header'>[]): number {
  return counted.reduce((sum, { count }) => sum + count, 0);
}

async function countOthers({ store, vault }: ResealDeps): Promise<readonly SealedCount[]> {
  return sealedWithOthers(vault, await store.count());
}

async function resealColumn({ store, vault, onProgress }: ResealDeps, column: SealedColumn) {
  const unreadable: string[] = [];
  let count = 0;
  let after: string | null = null;
  for (;;) {
    const rows: readonly SealedRow[] = await store.next(column, vault.header, {
      after,
      limit: AT_ONCE,
    });
    const last = rows.at(-1);
    if (last === undefined) return { count, unreadable };
    after = last.id;
    const opened = rows.flatMap((row) => {
      const resealed = resealValue(vault, `${column.table}/${row.id}`, row.sealed);
      if (resealed === null) unreadable.push(row.id);
      return resealed === null ? [] : [{ ...row, resealed }];
    });
    count += await store.replace(column, opened);
    onProgress(column, count);
  }
}

/** Null if unreadable. */
function resealValue(vault: Vault, boundTo: string, sealed: Uint8Array): Uint8Array | null {
  try {
    const plaintext = vault.open(sealed, boundTo);
    try {
      return vault.seal(plaintext, boundTo);
    } finally {
      plaintext.fill(0);
    }
  } catch (fault) {
    if (isCertificateFault(fault)) return null;
    throw fault;
  }
}
