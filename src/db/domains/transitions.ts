/** Transitions: the state, its events and what hangs on it, in one transaction or not at all. */

import type { Observation } from '../../core/diagnosis/observation.ts';
import type { Change } from '../../core/life/change.ts';
import { decide } from '../../core/life/decide.ts';
import { recordFor, zoneBelow } from '../../core/names/instructions.ts';
import { proofNameOf } from '../../core/names/proof.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { closeEscalation, type NewEscalation, placeEscalation } from '../issuance/escalations.ts';
import { endOrders } from '../issuance/orders.ts';
import { commit, loadAttached } from './commit.ts';
import type { LoadedDomain } from './domain-row.ts';

/** A transition that was decided, and everything that is saved with it. */
export type Move = {
  readonly domain: LoadedDomain;
  readonly outcome: Change;
  readonly at: Date;
  /** Replaces the stored one; missing: that stays. */
  readonly observation?: Observation;
  /** The other project that this domain's TXT record was checked against: its claim, or its hold, is no obstacle. */
  readonly provenAgainst?: string;
  /** The escalation that is opened together with it. */
  readonly escalation?: NewEscalation;
};

/** Whether a move was saved. `epoch` is the domain's epoch from then on. */
export type MoveResult =
  /** `lost`: the domain that the name was taken from, pending again from now on. */
  | { readonly kind: 'saved'; readonly epoch: number; readonly lost?: LostDomain }
  /** Another save came first: nothing was changed. */
  | { readonly kind: 'stale' }
  /**
   * Nothing was changed: an apex that another project holds, or has pending as well. Addresses are shared and do not prove
   * whose it is. `holderProjectId` is that project.
   */
  | { readonly kind: 'held_elsewhere'; readonly holderProjectId: string };

/** A domain whose hold on the name another project's proof has ended; `epoch` is the one that begins. */
export type LostDomain = {
  readonly id: string;
  readonly epoch: number;
  readonly change: Change;
};

type Tx = Prisma.TransactionClient;

/**
 * Saves a transition, unless another save came after `domain` was loaded. State, events, escalation and the other project's
 * loss of the name are committed together or not at all. Rejects with the database's other faults.
 */
export async function moveDomain(prisma: PrismaClient, move: Move): Promise<MoveResult> {
  try {
    return await prisma.$transaction((tx) => saveMove(tx, move));
  } catch (fault) {
    if (fault instanceof Stale || isHeldByNow(fault)) return { kind: 'stale' };
    throw fault;
  }
}

async function saveMove(tx: Tx, move: Move): Promise<MoveResult> {
  const { domain, outcome, at, observation } = move;
  const taken = outcome.to.status === 'verified' ? await takeName(tx, move) : nobodyHadIt;
  if (taken.kind === 'held_elsewhere') return taken;
  if (!(await commit(tx, domain, outcome, at))) throw new Stale();
  if (observation !== undefined) await storeObservation(tx, domain.id, observation);
  const closed =
    outcome.closes === null ? [] : await closeEscalation(tx, domain.id, outcome.closes, at);
  const { escalation } = move;
  const opened =
    escalation === undefined ? [] : await placeEscalation(tx, domain.id, escalation, at);
  await recordEvents(
    tx,
    [...taken.events, ...about(domain.id, outcome.events), ...closed, ...opened],
    at,
  );
  const epoch = outcome.epoch === 'next' ? domain.epoch + 1 : domain.epoch;
  return { kind: 'saved', epoch, ...(taken.lost && { lost: taken.lost }) };
}

/** Rolls the transaction back; never leaves this file. */
class Stale extends Error {}

async function storeObservation(tx: Tx, domainId: string, value: Observation): Promise<void> {
  await tx.storedObservation.upsert({
    where: { domainId },
    create: { domainId, value },
    update: { value },
  });
}

type Taken = {
  readonly kind: 'taken';
  readonly events: readonly NewEvent[];
  readonly lost: LostDomain | null;
};
const nobodyHadIt: Taken = { kind: 'taken', events: [], lost: null };

/** Gives the name to the project that the DNS proves: another project's hold on it ends, with an event. */
async function takeName(
  tx: Tx,
  move: Move,
): Promise<Taken | Extract<MoveResult, { kind: 'held_elsewhere' }>> {
  const rival = await findRival(tx, move.domain);
  if (rival === null) return nobodyHadIt;
  const proof = proofOf(move, rival.projectId);
  if (proof === null) return { kind: 'held_elsewhere', holderProjectId: rival.projectId };
  // A pending claim holds nothing that could be taken; its own next check finds the name held.
  return rival.status === 'pending' ? nobodyHadIt : takeFrom(tx, move, rival, proof);
}

type Row = NonNullable<Awaited<ReturnType<Tx['domain']['findFirst']>>>;
type Proof = 'cname' | 'txt';

/** Who holds the name, else the first other project that has it pending; nobody, where the domain holds it itself. */
async function findRival(tx: Tx, { id, hostname, state }: LoadedDomain): Promise<Row | null> {
  if (state.status !== 'pending' && state.status !== 'failed') return null;
  return tx.domain.findFirst({
    where: {
      hostname,
      id: { not: id },
      status: { in: ['pending', 'verified', 'live', 'drifted'] },
      removedAt: null,
    },
    // In the order of the type's declaration: `pending` is its least.
    orderBy: [{ status: 'desc' }, { addedAt: 'asc' }, { id: 'asc' }],
  });
}

async function takeFrom(tx: Tx, { domain, at }: Move, { id }: Row, proof: Proof): Promise<Taken> {
  await lockInOrder(tx, [domain.id, id]);
  const holder = await loadAttached(tx, id);
  if (holder === null) throw new Stale();
  const { hostname, target } = domain;
  const found = proof === 'cname' ? target : proofNameOf(hostname);
  const occurrence = { kind: 'claimed_elsewhere', proof, found } as const;
  const change = decide(holder, occurrence, { now: at, windowMs: 0 });
  if (!(await commit(tx, holder, change, at))) throw new Stale();
  await endOrders(tx, id, { reason: 'Another project holds the name now.', at });
  return {
    kind: 'taken',
    events: [
      ...about(id, change.events),
      ...(await closeEscalation(tx, id, 'claimed_elsewhere', at)),
    ],
    lost: { id, epoch: holder.epoch + 1, change },
  };
}

/** Of two domains, as a batch of checks locks them (checks.ts): otherwise the two would wait for each other. */
async function lockInOrder(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 FROM domain WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
}

/**
 * A CNAME to its own target proves which project controls the name; the addresses of an apex prove nothing, so its TXT
 * record must. An apex is what the zone that the check found makes one.
 */
function proofOf(
  { domain: { hostname, target }, observation, provenAgainst }: Move,
  rivalProjectId: string,
): Proof | null {
  const zone = zoneBelow({ hostname, delegation: observation?.delegation ?? null });
  const { type } = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  if (type === 'CNAME') return 'cname';
  return provenAgainst === rivalProjectId ? 'txt' : null;
}

/** Two checks were right at once while nobody held the name: domain_held_hostname_key lets one of them have it. */
function isHeldByNow(fault: unknown): boolean {
  return fault instanceof Prisma.PrismaClientKnownRequestError && fault.code === 'P2002';
}
