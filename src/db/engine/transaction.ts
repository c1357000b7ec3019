/** One transaction across several stores: their client joins the caller's transaction. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Prisma, PrismaClient } from '../generated/client.ts';

type TxScope = {
  readonly client: Tx;
  /** Savepoints nest, so the next one waits for it. */
  inner: Promise<unknown>;
  ended: boolean;
};

export type Tx = Prisma.TransactionClient;

/** By client, to support several databases in one process. */
type Scopes = ReadonlyMap<PrismaClient, TxScope>;

const scopes = new AsyncLocalStorage<Scopes>();
const enter = Symbol('enter');
type JoiningClient = PrismaClient & {
  readonly [enter]?: <T>(work: () => Promise<T>) => Promise<T>;
};

/**
 * Inside `transact`, calls join that transaction, and `$transaction` is a savepoint: if it fails,
 * only its changes are undone. A failed single statement aborts the surrounding transaction
 * (PostgreSQL's 25P02), so put one that can fail into a `$transaction`. Code that continues after
 * its transaction ended gets an error.
 */
export function joinTransactions(prisma: PrismaClient): PrismaClient {
  const current = () => open(scopes.getStore()?.get(prisma));
  const begin = <T>(work: () => Promise<T>) => {
    const scope = current();
    return scope === undefined
      ? prisma.$transaction((client) => runInside(prisma, client, work))
      : inside(prisma, scope, work);
  };
  return new Proxy(prisma, {
    get(_, property) {
      if (property === enter) return begin;
      const scope = current();
      if (scope === undefined) return member(prisma, property);
      if (property !== '$transaction') return member(scope.client, property);
      return (asked: Asked) => inside(prisma, scope, (client) => perform(asked, client));
    },
  });
}

/** Commits when `work` resolves, rolls back when it rejects. Nested calls are savepoints. */
export function transact<T>(prisma: PrismaClient, work: () => Promise<T>): Promise<T> {
  const begin = (prisma as JoiningClient)[enter]; // a symbol of this file, which types don't show
  if (begin === undefined) throw new Error('this client does not join transactions');
  return begin(work);
}

export type Transact = <T>(work: () => Promise<T>) => Promise<T>;

/** With a client that is not from `joinTransactions`, each call throws. */
export function createTransact(prisma: PrismaClient): Transact {
  return (work) => transact(prisma, work);
}

/** Of any database. A plain `$transaction` does not count. */
export function inTransaction(): boolean {
  return scopes.getStore() !== undefined;
}

type Asked = ((client: Tx) => Promise<unknown>) | readonly Promise<unknown>[];

/** Both forms of `$transaction`; Prisma's promises start when awaited. */
async function perform(asked: Asked, client: Tx): Promise<unknown> {
  if (typeof asked === 'function') return asked(client);
  const results: unknown[] = [];
  for (const operation of asked) results.push(await operation);
  return results;
}

function inside<T>(
  prisma: PrismaClient,
  scope: TxScope,
  work: (client: Tx) => Promise<T>,
): Promise<T> {
  const result = scope.inner.then(() =>
    scope.client.$transaction((client) => runInside(prisma, client, work)),
  );
  scope.inner = result.catch(() => {});
  return result;
}

async function runInside<T>(
  prisma: PrismaClient,
  client: Tx,
  work: (client: Tx) => Promise<T>,
): Promise<T> {
  const scope: TxScope = { client, inner: Promise.resolve(), ended: false };
  try {
    return await scopes.run(new Map(scopes.getStore()).set(prisma, scope), () => work(client));
  } finally {
    scope.ended = true;
  }
}

function open(scope: TxScope | undefined): TxScope | undefined {
  if (scope?.ended) throw new Error('this transaction has ended; something in it was not awaited');
  return scope;
}

function member(client: Tx, property: string | symbol): unknown {
  const value: unknown = Reflect.get(client, property);
  // Methods must be called on the client, not on the proxy.
  return typeof value === 'function' ? value.bind(client) : value;
}
