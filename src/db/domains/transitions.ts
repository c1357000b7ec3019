import { sharedRouteOf, type UnprovenBecause } from '../../core/diagnosis/claims.ts';
import { type Finding, leadElsewhere } from '../../core/diagnosis/findings.ts';
import type { Observation, Observed } from '../../core/diagnosis/observation.ts';
import type { DomainChange } from '../../core/life/check.ts';
import { decide } from '../../core/life/decide.ts';
import type { FindingsChanged } from '../../core/life/events.ts';
import { type DomainStatus, heldStatuses, holdsName } from '../../core/life/lifecycle.ts';
import { proofNameOf } from '../../core/names/proof.ts';
import { DAY } from '../../core/time.ts';
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
  /** The claim's TXT record exists, and none of these other claims': IDs of domains. */
  readonly provenAgainst?: readonly string[] | undefined;
  /** Only for a check that changes the state. */
  readonly escalation?: NewEscalation | undefined;
};

/** `epoch`: the domain's epoch from then on. */
export type MoveResult =
  /** `lost`: is pending again. */
  | { readonly kind: 'saved'; readonly epoch: number; readonly lost?: LostDomain }
  /** Another save came first; nothing changed. */
  | { readonly kind: 'stale' }
  | Unproven
  /** Nothing changed: a project on the Free plan gets no new domains. */
  | { readonly kind: 'plan_required' };

/** The domain did not change: the records do not prove ownership. `rivals`: IDs of the others' domains. */
export type Unproven = {
  readonly kind: 'unproven';
  readonly because: UnprovenBecause;
  readonly rivals: readonly string[];
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
  if (taken.kind === 'unproven') return taken;
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
  return !holdsName(move.domain.state) && move.change.to.status === 'verified';
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
async function takeName(tx: Tx, move: CheckSave): Promise<Taken | Unproven> {
  const { domain, at } = move;
  if (holdsName(domain.state)) return notHeld;
  const shared = sharedRouteOf(domain, move.observed.observation);
  const rivals = await findRivals(tx, domain);
  const holder = rivals.find(holdsName);
  // A rival that does not hold the name loses nothing. Its own next check finds the name held.
  const take = (proof: ProofKind) =>
    holder === undefined ? notHeld : takeFrom(tx, move, holder, proof);
  if (shared === null) return take('cname');
  if (hasTxtRecord(move, rivals)) return take('txt');
  const because = holder === undefined ? await whyUnproven(tx, domain, shared, rivals) : 'held';
  if (because === null) return notHeld;
  await reportWaiting(tx, domain, at);
  return { kind: 'unproven', because, rivals: rivals.map(({ id }) => id) };
}

type Claimant = Pick<LoadedDomain, 'id' | 'projectId' | 'hostname'>;
type Rival = Pick<LoadedDomain, 'id'> & { readonly status: DomainStatus };
type ProofKind = 'cname' | 'txt';
type SharedWay = NonNullable<ReturnType<typeof sharedRouteOf>>;

/** Enough for any name that several projects want. */
const RIVALS_MAX = 1_000;

/** Other projects' claims: the one that holds the name first, then the pending ones by age. */
function findRivals(tx: Tx, { id, projectId, hostname }: Claimant): Promise<Rival[]> {
  return tx.domain.findMany({
    where: {
      hostname,
      id: { not: id },
      projectId: { not: projectId },
      status: { in: ['pending', ...heldStatuses] },
      removedAt: null,
    },
    // In the enum's order: `pending` is the lowest.
    orderBy: [{ status: 'desc' }, { addedAt: 'asc' }, { id: 'asc' }],
    take: RIVALS_MAX,
    select: { id: true, status: true },
  });
}

function hasTxtRecord({ provenAgainst }: CheckSave, rivals: readonly Rival[]): boolean {
  return provenAgainst !== undefined && rivals.every(({ id }) => provenAgainst.includes(id));
}

/**
 * Records that were there before the claim can be another project's, or a former customer's. Those
 * that came afterward answer the claim. Null: they prove it.
 */
async function whyUnproven(
  tx: Tx,
  { id, projectId, hostname }: Claimant,
  shared: SharedWay,
  rivals: readonly Rival[],
): Promise<UnprovenBecause | null> {
  const last = await findLastHolder(tx, hostname);
  if (last?.id === id && shared.route !== 'wildcard' && !(await hasFailed(tx, id))) return null;
  if (rivals.length > 0) return 'held';
  if (last !== null && last.projectId !== projectId) return 'held_before';
  return shared.answersClaim && (await ledElsewhere(tx, id)) ? null : shared.route;
}

/** The claim that held the name last, also removed ones. */
async function findLastHolder(
  tx: Tx,
  hostname: string,
): Promise<{ readonly id: string; readonly projectId: string } | null> {
  const [last] = await tx.$queryRaw<{ id: string; projectId: string }[]>`
    SELECT domain.id::text AS id, project_id::text AS "projectId"
    FROM domain CROSS JOIN LATERAL (
      SELECT event.id FROM recorded_event AS event WHERE domain_id = domain.id AND type = 'domain.verified'
      ORDER BY event.id DESC LIMIT 1) AS verified
    WHERE hostname = ${hostname} ORDER BY verified.id DESC LIMIT 1`;
  return last ?? null;
}

/** Since it got the name. A claim that only lost its DNS or certificate for a while is still proven. */
async function hasFailed(tx: Tx, domainId: string): Promise<boolean> {
  const last = await tx.event.findFirst({
    where: { domainId, type: { in: ['domain.verified', 'domain.failed'] } },
    orderBy: { id: 'desc' },
    select: { type: true },
  });
  return last?.type === 'domain.failed';
}

/** Enough for the checks of several windows. */
const CHANGES_MAX = 1_000;

/** A check since the claim showed neither our addresses nor a proxy. */
async function ledElsewhere(tx: Tx, domainId: string): Promise<boolean> {
  const events = await tx.event.findMany({
    where: { domainId, type: 'domain.findings_changed' },
    orderBy: { id: 'asc' },
    take: CHANGES_MAX,
    select: { data: true },
  });
  let findings: readonly Finding[] = [];
  for (const { data } of events) {
    const { appeared, cleared } = data as unknown as FindingsChanged;
    const isCleared = ({ code }: Finding) => cleared.some((one) => one.code === code);
    findings = [...findings.filter((finding) => !isCleared(finding)), ...appeared];
    if (leadElsewhere(findings)) return true;
  }
  return false;
}

/** From the second refused check, because the first one can take the name at once. */
async function reportWaiting(tx: Tx, domain: LoadedDomain, at: Date): Promise<void> {
  for (const finding of domain.findings) {
    if (finding.code !== 'held_elsewhere') continue;
    const isPublished = finding.proof.seen === 'both';
    await recordEvents(tx, await reportClaim(tx, domain, { isPublished, at }), at);
  }
}

/** At most one report of a kind per day, so that strangers cannot flood the holder. */
const REPORT_EVERY_MS = DAY;

/**
 * The event for the project that holds the name; empty if none does. `isPublished`: the claim's TXT
 * record is in the zone.
 */
export async function reportClaim(
  tx: Tx,
  { hostname, projectId }: Omit<Claimant, 'id'>,
  { isPublished, at }: { readonly isPublished: boolean; readonly at: Date },
): Promise<readonly NewEvent[]> {
  const holder = await tx.domain.findFirst({
    where: {
      hostname,
      projectId: { not: projectId },
      status: { in: [...heldStatuses] },
      removedAt: null,
    },
    select: { id: true },
  });
  if (holder === null) return [];
  const { id: domainId } = holder;
  const event = { type: 'domain.contested', isPublished } as const;
  const since = new Date(at.getTime() - REPORT_EVERY_MS);
  const isReported = await tx.event.count({
    where: {
      domainId,
      type: event.type,
      at: { gt: since },
      data: { path: ['isPublished'], equals: isPublished },
    },
  });
  return isReported > 0 ? [] : about(domainId, [event]);
}

async function takeFrom(
  tx: Tx,
  { domain, at }: CheckSave,
  { id }: Rival,
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

/** Two checks of an unheld name succeeded at once; domain_held_hostname_key lets one have it. */
function isHeldByNow(fault: unknown): boolean {
  return fault instanceof Prisma.PrismaClientKnownRequestError && fault.code === 'P2002';
}
