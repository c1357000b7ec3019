/** Transitions: the state, its events and what hangs on it, in one transaction or not at all. */
import type { CheckOutcome } from '../core/check.ts';
import { transition } from '../core/lifecycle.ts';
import type { Observation } from '../core/observation.ts';
import { splitAtZone } from '../core/zone.ts';
import { endOrders } from './certificates.ts';
import { type LoadedDomain, stateColumns, toState } from './domain-row.ts';
import { closeEscalation } from './escalations.ts';
import { tell } from './events.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

export type Move = {
  readonly domain: LoadedDomain;
  readonly outcome: CheckOutcome;
  readonly at: Date;
  readonly observation?: Observation;
};

export type MoveResult =
  | { readonly kind: 'saved'; readonly epoch: number }
  /** Loaded before somebody else's save: nothing was changed. */
  | { readonly kind: 'stale' }
  /** An apex that another project holds: shared addresses do not say whose it is, so it stays with its holder. */
  | { readonly kind: 'held_elsewhere' };

type Tx = Prisma.TransactionClient;

/** Saves a transition, conditional on nobody having saved since `domain` was loaded. */
export async function moveDomain(prisma: PrismaClient, move: Move): Promise<MoveResult> {
  try {
    return await prisma.$transaction((tx) => saveMove(tx, move));
  } catch (fault) {
    if (fault instanceof Stale) return { kind: 'stale' };
    throw fault;
  }
}

async function saveMove(tx: Tx, move: Move): Promise<MoveResult> {
  const { domain, outcome, at, observation } = move;
  if (outcome.to.status === 'verified' && !(await takeName(tx, move))) {
    return { kind: 'held_elsewhere' };
  }
  // A life ends where the domain goes back to pending: jobs of before are fenced off.
  const epoch = outcome.to.status === 'pending' ? domain.epoch + 1 : domain.epoch;
  const { count } = await tx.domain.updateMany({
    where: { id: domain.id, epoch: domain.epoch, attempts: domain.attempts, removedAt: null },
    data: {
      ...stateColumns(outcome.to),
      epoch,
      attempts: domain.attempts + 1,
      findings: [...outcome.findings],
      lastCheckedAt: at,
      nextCheckAt: outcome.nextCheckAt,
      escalateAt: outcome.escalateAt,
      ...(observation && { observation }),
    },
  });
  if (count === 0) throw new Stale();
  if (domain.state.status === 'verified') await closeEscalation(tx, domain.id, at);
  await tell(tx, domain.id, outcome.events, at);
  return { kind: 'saved', epoch };
}

/** Rolls the transaction back; never leaves this file. */
class Stale extends Error {}

/** The name goes to whom the DNS points at: another project's hold on it ends. False where it must not. */
async function takeName(tx: Tx, { domain, at }: Move): Promise<boolean> {
  const holders = await tx.domain.findMany({
    where: {
      hostname: domain.hostname,
      id: { not: domain.id },
      status: { in: ['verified', 'live', 'drifted'] },
      removedAt: null,
    },
  });
  // A CNAME to its own target proves which project controls the name; an apex's addresses prove nothing.
  if (holders.length > 0 && splitAtZone(domain.hostname).apex) return false;
  for (const holder of holders) {
    const lost = transition(
      toState(holder),
      { kind: 'claimed_elsewhere' },
      { now: at, windowMs: 0 },
    );
    if (lost.kind !== 'moved') continue;
    const { count } = await tx.domain.updateMany({
      where: { id: holder.id, epoch: holder.epoch, status: holder.status, removedAt: null },
      data: {
        ...stateColumns(lost.to),
        epoch: { increment: 1 },
        attempts: 0,
        nextCheckAt: at,
        escalateAt: null,
      },
    });
    if (count === 0) throw new Stale();
    await endOrders(tx, holder.id);
    await closeEscalation(tx, holder.id, at);
    await tell(tx, holder.id, [{ type: lost.event }], at);
  }
  return true;
}
