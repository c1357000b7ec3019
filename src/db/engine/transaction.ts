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
  /** What is to follow the commit of the outermost; dropped where this one is undone. */
  readonly followUps: FollowUp[];
  ended: boolean;
};

type FollowUp = () => Promise<void>;

/** A client within a transaction. */
export type Tx = Prisma.TransactionClient;

/** By client, so that a second database in the same process has its own. */
type Scopes = ReadonlyMap<PrismaClient, Scope>;

const scopes = new AsyncLocalStorage<Scopes>();
const enter = Symbol('enter');
const follow = Symbol('follow');
type Joining = PrismaClient & {
  readonly [enter]?: <T>(work: () => Promise<T>) => Promise<T>;
  readonly [follow]?: (work: FollowUp) => Promise<void>;
};

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
    return scope === undefined ? outermost(prisma, work) : inside(prisma, scope, work);
  };
  const after = async (work: FollowUp) => {
    const scope = current();
    if (scope === undefined) return work();
    scope.followUps.push(work);
  };
  return new Proxy(prisma, {
    get(_, property) {
      if (property === enter) return begin;
      if (property === follow) return after;
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

/**
 * Runs `work` once what is under way is committed: at once outside of `transact`, else after the outermost transaction, and
 * not at all where that is undone. For what must not be done under its locks. Where `work` fails then, `transact` rejects
 * although the rest stays. `prisma` is of `joinTransactions`.
 */
export function afterCommit(prisma: PrismaClient, work: () => Promise<void>): Promise<void> {
  const after = (prisma as Joining)[follow]; // as above
  if (after === undefined) throw new Error('this client does not join transactions');
  return after(work);
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

async function outermost<T>(prisma: PrismaClient, work: () => Promise<T>): Promise<T> {
  const followUps: FollowUp[] = [];
  const result = await prisma.$transaction((client) => runInside(prisma, client, work, followUps));
  for (const followUp of followUps) await followUp();
  return result;
}

function inside<T>(
  prisma: PrismaClient,
  scope: Scope,
  work: (client: Tx) => Promise<T>,
): Promise<T> {
  const result = scope.inner.then(async () => {
    const followUps: FollowUp[] = [];
    const done = await scope.client.$transaction((client) =>
      runInside(prisma, client, work, followUps),
    );
    scope.followUps.push(...followUps);
    return done;
  });
  scope.inner = result.catch(() => {});
  return result;
}

async function runInside<T>(
  prisma: PrismaClient,
  client: Tx,
  work: (client: Tx) => Promise<T>,
  followUps: FollowUp[],
): Promise<T> {
  const scope: Scope = { client, inner: Promise.resolve(), followUps, ended: false };
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
