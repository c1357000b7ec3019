/**
 * One transaction around what several stores do. Stores know nothing of it: the client that they are built
 * with joins the transaction that is under way where they are called from, and is itself everywhere else.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Prisma, PrismaClient } from '../generated/client.ts';

/** One transaction under way, or one inside another: a savepoint. */
type Scope = {
  readonly client: Tx;
  /** The last of the transactions inside this one; savepoints nest, so the next one waits for it. */
  inner: Promise<unknown>;
  ended: boolean;
};

/** A client within a transaction. */
export type Tx = Prisma.TransactionClient;

/** By client, so that a second database in the same process has its own. */
type Scopes = ReadonlyMap<PrismaClient, Scope>;

const scopes = new AsyncLocalStorage<Scopes>();
const enter = Symbol('enter');
type Joining = PrismaClient & { readonly [enter]?: <T>(work: () => Promise<T>) => Promise<T> };

/**
 * Returns the client for stores. Inside `transact` every call of it happens in that transaction, and its own `$transaction`
 * is a savepoint inside: where that fails, what it did is undone and the rest continues. A single statement that fails
 * spoils the transaction around it (PostgreSQL's 25P02), so put one that may fail into a `$transaction`. Code that continues
 * after the end of its transaction gets an error, not another connection.
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

/**
 * Runs `work` in a transaction: committed when the promise resolves, and nothing is left of it where it rejects.
 * Inside another one it is a part of that, undone alone where it fails. `prisma` is of `joinTransactions`.
 */
export function transact<T>(prisma: PrismaClient, work: () => Promise<T>): Promise<T> {
  const begin = (prisma as Joining)[enter]; // a symbol of this file, which types do not show
  if (begin === undefined) throw new Error('this client does not join transactions');
  return begin(work);
}

/** `transact` of one client. */
export type Transact = <T>(work: () => Promise<T>) => Promise<T>;

/** `transact` for callers that see no client. `prisma` is of `joinTransactions`; with any other, each call throws. */
export function createTransact(prisma: PrismaClient): Transact {
  return (work) => transact(prisma, work);
}

/** Whether the caller is inside `transact`, of whichever database. A plain `$transaction` does not count. */
export function inTransaction(): boolean {
  return scopes.getStore() !== undefined;
}

type Asked = ((client: Tx) => Promise<unknown>) | readonly Promise<unknown>[];

/** Both forms of `$transaction`; Prisma's promises begin when they are awaited. */
async function perform(asked: Asked, client: Tx): Promise<unknown> {
  if (typeof asked === 'function') return asked(client);
  const results: unknown[] = [];
  for (const operation of asked) results.push(await operation);
  return results;
}

function inside<T>(
  prisma: PrismaClient,
  scope: Scope,
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
  const scope: Scope = { client, inner: Promise.resolve(), ended: false };
  try {
    return await scopes.run(new Map(scopes.getStore()).set(prisma, scope), () => work(client));
  } finally {
    scope.ended = true;
  }
}

function open(scope: Scope | undefined): Scope | undefined {
  if (scope?.ended) throw new Error('this transaction has ended; something in it was not awaited');
  return scope;
}

function member(client: Tx, property: string | symbol): unknown {
  const value: unknown = Reflect.get(client, property);
  // Methods of the client are called on the client, not on the proxy.
  return typeof value === 'function' ? value.bind(client) : value;
}
