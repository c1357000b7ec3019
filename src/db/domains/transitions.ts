import type { Observation, Observed } from '../../core/diagnosis/observation.ts';
import { passageOf } from '../../core/diagnosis/proxies.ts';
import type { DomainChange } from '../../core/life/check.ts';
import { decide } from '../../core/life/decide.ts';
import { heldStatuses, holdsName } from '../../core/life/lifecycle.ts';
import { recordFor, zoneBelow } from '../../core/names/instructions.ts';
import { proofNameOf } from '../../core/names/proof.ts';
import type { Tx } from '../engine/transaction.ts';
import { about, type NewEvent, recordEvents } from '../events.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { closeEscalation, type NewEscalation, placeEscalation } from '../issuance/escalations.ts';
import { endOrders } from '../issuance/orders.ts';
import { commit, loadAttached } from './commit.ts';
import type { LoadedDomain } from './domain-row.ts';

/** A finished check with its decision. */
export type CheckSave = {
  readonly domain: LoadedDomain;
  readonly observed: Observed;
  readonly change: DomainChange;
  readonly at: Date;
  /** The other project whose claim or hold gives way to this domain's TXT record. */
  readonly provenAgainst?: string | undefined;
  /** Only for a check that changes the state. */
  readonly escalation?: NewEscalation | undefined;
};

/** `epoch`: the domain's epoch from then on. */
export type MoveResult =
  /** `lost`: is pending again. */
  | { readonly kind: 'saved'; readonly epoch: number; readonly lost?: LostDomain }
  /** Another save came first; nothing changed. */
  | { readonly kind: 'stale' }
  /** Nothing changed: `holderProjectId` also has this apex, or had it. */
  | HeldElsewhere
  /** Nothing changed: a project on the Free plan gets no new domains. */
  | { readonly kind: 'plan_required' };

/** `heldBefore`: it is free now, but another account held it. */
type HeldElsewhere = {
  readonly kind: 'held_elsewhere';
  readonly holderProjectId: string;
  readonly heldBefore?: true;
};

/** `epoch`: its new one. */
type LostDomain = {
  readonly id: string;
  readonly projectId: string;
  readonly epoch: number;
  readonly change: DomainChange;
};

/** One transaction for state, events, escalation and the other project's loss of the name. */
export async function moveDomain(prisma: PrismaClient, move: CheckSave): Promise<MoveResult> {
  try {
    return await prisma.$transaction((tx) => saveMove(tx, move));
  } catch (fault) {
    if (fault instanceof Stale || isHeldByNow(fault)) return { kind: 'stale' };
    throw fault;
  }
}

async function saveMove(tx: Tx, move: CheckSave): Promise<MoveResult> {
  const { domain, change, at, observed } = move;
  if (isNew(move) && (await isFree(tx, domain.projectId))) return { kind: 'plan_required' };
  const taken = change.to.status === 'verified' ? await takeName(tx, move) : notHeld;
  if (taken.kind === 'held_elsewhere') return taken;
  if (!(await commit(tx, domain, change, at))) throw new Stale();
  if (observed.kind === 'observed') await storeObservation(tx, domain.id, observed.observation);
  const closed =
    change.closes === null ? [] : await closeEscalation(tx, domain.id, change.closes, at);
  const { escalation } = move;
  const opened =
    escalation === undefined ? [] : await placeEscalation(tx, domain.id, escalation, at);
  await recordEvents(
    tx,
    [...taken.events, ...about(domain.id, change.events), ...closed, ...opened],
    at,
  );
  const epoch = change.epoch === 'next' ? domain.epoch + 1 : domain.epoch;
  return { kind: 'saved', epoch, ...(taken.lost && { lost: taken.lost }) };
}

/** A domain that was served before keeps its place, also without a certificate. */
function isNew(move: CheckSave): boolean {
  return isUnheld(move) && move.change.to.status === 'verified';
}

async function isFree(tx: Tx, projectId: string): Promise<boolean> {
  return (await tx.project.count({ where: { id: projectId, plan: 'free' } })) > 0;
}

/** Rolls the transaction back; caught in this file. */
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
const notHeld: Taken = { kind: 'taken', events: [], lost: null };

/** Gives the name to the project whose ownership the DNS proves. Another holder loses it, with an event. */
async function takeName(tx: Tx, move: CheckSave): Promise<Taken | HeldElsewhere> {
  const rival = await findRival(tx, move);
  if (rival === null) return refuseFormer(tx, move);
  const proof = proofOf(move, rival.projectId);
  if (proof === null) return { kind: 'held_elsewhere', holderProjectId: rival.projectId };
  // A rival that does not hold the name loses nothing. Its own next check finds the name held.
  return isHolding(rival) ? takeFrom(tx, move, rival, proof) : notHeld;
}

/**
 * A former customer's A record can still point here. So the addresses of a name prove nothing if
 * another account ever held it.
 */
async function refuseFormer(tx: Tx, move: CheckSave): Promise<Taken | HeldElsewhere> {
  if (!isUnheld(move) || isProvenByCname(move)) return notHeld;
  const holderProjectId = await findFormerHolder(tx, move.domain);
  if (holderProjectId === null || holderProjectId === move.provenAgainst) return notHeld;
  return { kind: 'held_elsewhere', holderProjectId, heldBefore: true };
}

/** The project in another account that held the name last, also removed ones. */
async function findFormerHolder(
  tx: Tx,
  { projectId, hostname }: LoadedDomain,
): Promise<string | null> {
  const [former] = await tx.$queryRaw<{ projectId: string }[]>`
    SELECT project_id::text AS "projectId" FROM domain JOIN project ON project.id = project_id
    WHERE hostname = ${hostname}
      AND account_id <> (SELECT account_id FROM project WHERE id = ${projectId}::uuid)
      AND EXISTS (SELECT 1 FROM event WHERE domain_id = domain.id AND type = 'domain.verified')
    ORDER BY added_at DESC, domain.id LIMIT 1`;
  return former?.projectId ?? null;
}

function isHolding(row: Row): boolean {
  return row.removedAt === null && holdsName(row);
}

type Row = NonNullable<Awaited<ReturnType<Tx['domain']['findFirst']>>>;
type ProofKind = 'cname' | 'txt';

/** The domain is pending or failed, so its project does not hold the name. */
function isUnheld({ domain: { state } }: CheckSave): boolean {
  return !holdsName(state);
}

/**
 * The project that holds the name, otherwise the first other one that has it pending. Behind a proxy,
 * otherwise the last one that held it: its record can still lead here.
 */
async function findRival(tx: Tx, move: CheckSave): Promise<Row | null> {
  if (!isUnheld(move)) return null;
  const { domain, observed } = move;
  const { id, projectId, hostname } = domain;
  const other = { hostname, id: { not: id }, projectId: { not: projectId } };
  const rival = await tx.domain.findFirst({
    where: { ...other, status: { in: ['pending', ...heldStatuses] }, removedAt: null },
    // In the enum's order: `pending` is the lowest.
    orderBy: [{ status: 'desc' }, { addedAt: 'asc' }, { id: 'asc' }],
  });
  if (rival !== null || passageOf(observed.observation.proxy) !== 'passes') return rival;
  return tx.domain.findFirst({
    where: { ...other, verifiedAt: { not: null } },
    orderBy: [{ verifiedAt: 'desc' }, { id: 'asc' }],
  });
}

async function takeFrom(
  tx: Tx,
  { domain, at }: CheckSave,
  { id }: Row,
  proof: ProofKind,
): Promise<Taken> {
  await lockInOrder(tx, [domain.id, id]);
  const holder = await loadAttached(tx, id);
  if (holder === null) throw new Stale();
  const { hostname, target } = domain;
  const found = proof === 'cname' ? target : proofNameOf(hostname);
  const occurrence = { kind: 'claimed_elsewhere', proof, found } as const;
  const change = decide(holder, occurrence, at);
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

/** In the same order as a batch of checks (checks.ts), to avoid deadlocks. */
async function lockInOrder(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.$queryRaw`
    SELECT 1 FROM domain WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE`;
}

/** A CNAME to its own target proves ownership. An apex needs its TXT record, as does a hidden CNAME. */
function proofOf(move: CheckSave, rivalProjectId: string): ProofKind | null {
  if (isProvenByCname(move)) return 'cname';
  return move.provenAgainst === rivalProjectId ? 'txt' : null;
}

function isProvenByCname({ domain, observed: { observation } }: CheckSave): boolean {
  const { hostname, target } = domain;
  const zone = zoneBelow({ hostname, delegation: observation.delegation });
  const { type } = recordFor({ hostname, target, ...(zone !== undefined && { zone }) });
  return type === 'CNAME' && passageOf(observation.proxy) !== 'passes';
}

/** Two checks of an unheld name succeeded at once; domain_held_hostname_key lets one have it. */
function isHeldByNow(fault: unknown): boolean {
  return fault instanceof Prisma.PrismaClientKnownRequestError && fault.code === 'P2002';
}
