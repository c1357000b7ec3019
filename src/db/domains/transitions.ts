/** Transitions: the state, its events and what hangs on it, in one transaction or not at all. */

import type { Observation } from '../../core/diagnosis/observation.ts';
import type { Change } from '../../core/life/change.ts';
import { decide } from '../../core/life/decide.ts';
import { type ProofReason, proofNeeded } from '../../core/names/claim.ts';
import { recordFor, zoneBelow } from '../../core/names/instructions.ts';
import { proofNameOf } from '../../core/names/proof.ts';
import { formatWatchedServers, watchedServersOf } from '../../core/watch/watched-name.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { closeEscalation, type NewEscalation, placeEscalation } from '../issuance/escalations.ts';
import { endOrders } from '../issuance/orders.ts';
import { commit, loadAttached } from './commit.ts';
import type { Claim, LoadedDomain } from './domain-row.ts';

/** A transition that was decided, and everything that is saved with it. */
export type Move = {
  readonly domain: LoadedDomain;
  readonly outcome: Change;
  readonly at: Date;
  /** Replaces the stored one; missing: that stays. */
  readonly observation?: Observation;
  /** What this domain's TXT record has proven. */
  readonly proven?: Proven;
  /** The escalation that is opened together with it. */
  readonly escalation?: NewEscalation;
};

/** Another project's claim on the same host name. `isHolder`: it holds the name; else it waits for it. */
export type Rival = Claim & { readonly isHolder: boolean };

/** The TXT record is there, and the rival's own is not: its claim, or its hold, is no obstacle. Null: nobody else has the name. */
export type Proven = { readonly against: Rival | null };

/** Whether a move was saved. `epoch` is the domain's epoch from then on. */
export type MoveResult =
  /** `lost`: the domain that the name was taken from, pending again from now on. */
  | { readonly kind: 'saved'; readonly epoch: number; readonly lost?: LostDomain }
  /** Another save came first: nothing was changed. */
  | { readonly kind: 'stale' }
  /** Nothing was changed: addresses do not prove this apex, so the claim's TXT record must. `rival`: who else has the name. */
  | ProofNeeded;

/** Why a claim's TXT record is needed, and which other claim it has to outweigh; null: nobody else has the name. */
export type ProofNeeded = {
  readonly kind: 'proof_needed';
  readonly reason: ProofReason;
  readonly rival: Rival | null;
};

/** A domain whose hold on the name another project's proof has ended; `epoch` is the one that begins. */
export type LostDomain = {
  readonly id: string;
  readonly projectId: string;
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
  if (taken.kind === 'proof_needed') return taken;
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
  const columns = { value, watchedServers: formatWatchedServers(watchedServersOf(value)) };
  await tx.storedObservation.upsert({
    where: { domainId },
    create: { domainId, ...columns },
    update: columns,
  });
}

type Taken = {
  readonly kind: 'taken';
  readonly events: readonly NewEvent[];
  readonly lost: LostDomain | null;
};
const nobodyHadIt: Taken = { kind: 'taken', events: [], lost: null };

/** Gives the name to the project that the DNS proves: another project's hold on it ends, with an event. */
async function takeName(tx: Tx, move: Move): Promise<Taken | ProofNeeded> {
  const { status } = move.domain.state;
  // Any other state holds the name already: nobody's claim changes that.
  if (status !== 'pending' && status !== 'failed') return nobodyHadIt;
  const row = await findRival(tx, move.domain);
  const rival = row && { ...row, isHolder: row.status !== 'pending' };
  const record = recordTypeOf(move);
  if (record === 'ALIAS' && !isProven(move, rival)) {
    const reason = await whyProofIsNeeded(tx, move, rival);
    if (reason !== null) return { kind: 'proof_needed', reason, rival: rival && rivalOf(rival) };
  }
  // A pending claim holds nothing that could be taken; its own next check finds the name held.
  return rival?.isHolder ? takeFrom(tx, move, rival, record) : nobodyHadIt;
}

type Row = NonNullable<Awaited<ReturnType<Tx['domain']['findFirst']>>>;

/** Who holds the name, else the first other project that has it pending. */
async function findRival(tx: Tx, { id, hostname }: LoadedDomain): Promise<Row | null> {
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

function rivalOf({ projectId, hostname, claimNonce, isHolder }: Rival): Rival {
  return { projectId, hostname, claimNonce, isHolder };
}

/** What was proven against one claim says nothing against another; where nobody else has the name, it needs no more. */
function isProven({ proven }: Move, rival: Rival | null): boolean {
  if (proven === undefined || rival === null) return proven !== undefined;
  const { against } = proven;
  return against?.projectId === rival.projectId && against.claimNonce === rival.claimNonce;
}

async function whyProofIsNeeded(
  tx: Tx,
  { domain, outcome: { arrival } }: Move,
  rival: Rival | null,
): Promise<ProofReason | null> {
  const facts = { record: 'ALIAS', arrival, isContested: rival !== null } as const;
  return (
    proofNeeded({ ...facts, wasAnothers: false }) ??
    proofNeeded({ ...facts, wasAnothers: await wasAnothers(tx, domain) })
  );
}

/** Whether a project of another account ever held the name: every way to hold it begins with this event. */
async function wasAnothers(tx: Tx, { projectId, hostname }: LoadedDomain): Promise<boolean> {
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM domain other
    JOIN project theirs ON theirs.id = other.project_id
    JOIN project own ON own.id = ${projectId}::uuid
    WHERE other.hostname = ${hostname} AND theirs.account_id <> own.account_id AND EXISTS (
      SELECT FROM event WHERE event.domain_id = other.id AND event.type = 'domain.verified')
    LIMIT 1`;
  return rows.length > 0;
}

async function takeFrom(
  tx: Tx,
  { domain, at }: Move,
  { id }: Row,
  record: 'CNAME' | 'ALIAS',
): Promise<Taken> {
  await lockInOrder(tx, [domain.id, id]);
  const holder = await loadAttached(tx, id);
  if (holder === null) throw new Stale();
  const { hostname, target } = domain;
  const evidence =
    record === 'CNAME'
      ? ({ proof: 'cname', found: target } as const)
      : ({ proof: 'txt', found: proofNameOf(hostname) } as const);
  const occurrence = { kind: 'claimed_elsewhere', ...evidence } as const;
  const change = decide(holder, occurrence, { now: at, windowMs: 0 });
  if (!(await commit(tx, holder, change, at))) throw new Stale();
  await endOrders(tx, id, { reason: 'Another project holds the name now.', at });
  return {
    kind: 'taken',
    events: [
      ...about(id, change.events),
      ...(await closeEscalation(tx, id, 'claimed_elsewhere', at)),
    ],
    lost: { id, projectId: holder.projectId, epoch: holder.epoch + 1, change },
  };
}

/** Of two domains, as a batch of checks locks them (checks.ts): otherwise the two would wait for each other. */
async function lockInOrder(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 FROM domain WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
}

/** An apex, which has an ALIAS, is what the zone that the check found makes one. */
function recordTypeOf({ domain: { hostname, target }, observation }: Move): 'CNAME' | 'ALIAS' {
  const zone = zoneBelow({ hostname, delegation: observation?.delegation ?? null });
  return recordFor({ hostname, target, ...(zone !== undefined && { zone }) }).type;
}

/** Two checks were right at once while nobody held the name: domain_held_hostname_key lets one of them have it. */
function isHeldByNow(fault: unknown): boolean {
  return fault instanceof Prisma.PrismaClientKnownRequestError && fault.code === 'P2002';
}
