/**
 * Seals again what was sealed with another key than the first, while everything runs on
 * (docs/decisions/0018-key-rotation.md).
 */

import {
  type SealedColumn,
  type SealedCount,
  type SealedRow,
  type SealedStore,
  sealedColumns,
} from '../../db/issuance/sealed-columns.ts';
import { isCertificateFault } from '../fault.ts';
import type { Vault } from './vault.ts';

/** Rows in a batch: some 200 KiB of keys, and a few milliseconds for which their rows are locked. */
const AT_ONCE = 500;
/** A row that is locked, or changes, is taken again with the next pass. */
const PASSES_MAX = 5;

/** What resealing needs; `vault` has the new key first and the old ones behind it. */
export type ResealDeps = {
  readonly store: SealedStore;
  readonly vault: Vault;
  /** Called after every batch: how many of a column were resealed so far in this pass. */
  readonly onProgress: (column: SealedColumn, done: number) => void;
};

/** What resealing came to. It was complete where `left` is empty. */
export type Resealed = {
  /** How many were resealed, for each column in each pass. */
  readonly done: readonly Omit<SealedCount, 'header'>[];
  /** What is still sealed with another key, those that are unreadable included. */
  readonly left: readonly SealedCount[];
  /** Rows that none of the keys opens although one of them sealed it: damaged, or copied from another row. */
  readonly unreadable: readonly { readonly column: SealedColumn; readonly id: string }[];
};

/**
 * Reseals everything with the first key, in at most 5 passes. May be stopped at any moment and called again: what is
 * done stays done. Several at once do no harm. Rejects where the database does.
 */
export async function reseal(deps: ResealDeps): Promise<Resealed> {
  const done: Omit<SealedCount, 'header'>[] = [];
  let unreadable: Resealed['unreadable'] = [];
  let left = await countOthers(deps);
  // At least once where it is split: derived secrets do not show whether they are yet.
  const isDue = (pass: number) =>
    (pass === 1 && deps.vault.isSplit) || sumOf(left) > unreadable.length;
  for (let pass = 1; isDue(pass) && pass <= PASSES_MAX; pass += 1) {
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

/** Returns what was sealed with another key than it is sealed with now. Of a derived secret the KEK and its edge key are the same. */
export function sealedWithOthers(
  vault: Vault,
  counted: readonly SealedCount[],
): readonly SealedCount[] {
  return counted.filter(
    ({ column, header }) =>
      !headersOf(vault, column).some((one) => Buffer.from(header).equals(one)),
  );
}

function headersOf({ isSplit, header, edgeHeader }: Vault, { isOfEdges }: SealedColumn) {
  return isSplit && isOfEdges ? [edgeHeader] : [header, edgeHeader];
}

/** Returns how many items these are together. */
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
    // Some derived secrets are the edges' and some are not: they are few, and all of them are looked through.
    const isMixed = vault.isSplit && column.table === 'derived_secret';
    const headers = isMixed ? [] : headersOf(vault, column);
    const rows: readonly SealedRow[] = await store.next(column, headers, {
      after,
      limit: AT_ONCE,
    });
    const last = rows.at(-1);
    if (last === undefined) return { count, unreadable };
    after = last.id;
    const opened = rows.flatMap((row) => {
      const boundTo = `${column.table}/${row.id}`;
      if (vault.isCurrent(row.sealed, boundTo)) return [];
      const resealed = resealValue(vault, boundTo, row.sealed);
      if (resealed === null) unreadable.push(row.id);
      return resealed === null ? [] : [{ ...row, resealed }];
    });
    count += await store.replace(column, opened);
    onProgress(column, count);
  }
}

/** Null: it cannot be read. */
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
