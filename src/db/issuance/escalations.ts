/** An escalation notifies an operator; a domain has at most one open. */

import { randomUUID } from 'node:crypto';
import type { Installation } from '../../core/access.ts';
import type { EscalationCause, EscalationEvidence } from '../../core/certificates/escalation.ts';
import type { EscalationEnd } from '../../core/life/events.ts';
import { isServed, servedStatuses } from '../../core/life/lifecycle.ts';
import type { Escalation } from '../../core/records.ts';
import { schedule } from '../domains/commit.ts';
import { type LoadedDomain, servedInSql } from '../domains/domain-row.ts';
import type { Tx } from '../engine/transaction.ts';
import { type NewEvent, recordEvents } from '../events.ts';
import { Prisma, type PrismaClient } from '../generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from '../page.ts';

/** Also the update of an open one with the same cause. */
export type NewEscalation = {
  readonly cause: EscalationCause;
  readonly summary: string;
  readonly nextAction: string;
  readonly evidence: EscalationEvidence;
};

/** `kept`: already open for this cause. `gone`: the domain has changed since it was loaded. */
export type OpenResult = 'opened' | 'kept' | 'gone';

export type OpenEscalation = {
  readonly cause: string;
  readonly evidence: EscalationEvidence;
  readonly openedAt: Date;
};

export type EscalationRow = Escalation & {
  readonly domain: { readonly projectId: string; readonly hostname: string };
};

/** `status` null: open and closed. */
export type EscalationQuery = ListRange & { readonly status: 'open' | 'closed' | null };

type EscalatedDomain = Pick<LoadedDomain, 'id' | 'epoch' | 'state' | 'certificateEndsAt'>;

/**
 * While the domain is verified, or served with this certificate. One transaction, so readers always see exactly one.
 * `wakes`: its renewal becomes due at once.
 */
export function openEscalation(
  prisma: PrismaClient,
  { id, epoch, state, certificateEndsAt }: EscalatedDomain,
  escalation: NewEscalation,
  {
    at,
    againAt,
    wakes = false,
  }: { readonly at: Date; readonly againAt: Date; readonly wakes?: boolean },
): Promise<OpenResult> {
  const isSame = isServed(state)
    ? Prisma.sql`status IN (${servedInSql}) AND certificate_ends_at = ${certificateEndsAt}`
    : Prisma.sql`status = 'verified'`;
  return prisma.$transaction(async (tx) => {
    // The row lock keeps a certificate from being stored between the check and the insert.
    const locked = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM domain WHERE id = ${id}::uuid AND epoch = ${epoch} AND removed_at IS NULL
        AND ${isSame} FOR UPDATE`;
    if (locked.length === 0) return 'gone';
    await schedule(tx, { id, epoch }, { escalateAt: againAt, ...(wakes && { renewAt: at }) });
    const events = await placeEscalation(tx, id, escalation, at);
    await recordEvents(tx, events, at);
    return events.length === 0 ? 'kept' : 'opened';
  });
}

/** If no escalation is needed yet. */
export async function postponeRenewalEscalation(
  prisma: PrismaClient,
  { id, epoch }: Pick<LoadedDomain, 'id' | 'epoch'>,
  at: Date,
): Promise<void> {
  await schedule(prisma, { id, epoch, status: { in: [...servedStatuses] } }, { escalateAt: at });
}

/** The caller holds the domain's row and records the returned events. */
export async function placeEscalation(
  tx: Tx,
  domainId: string,
  { cause, summary, nextAction, evidence }: NewEscalation,
  at: Date,
): Promise<readonly NewEvent[]> {
  const stored = { cause, nextAction, evidence: toJson(evidence) };
  const open = await tx.escalation.findFirst({ where: { domainId, closedAt: null } });
  if (open?.cause === cause) {
    await tx.escalation.update({ where: { id: open.id }, data: stored });
    return [];
  }
  const closed = await closeEscalation(tx, domainId, 'cause_changed', at);
  await tx.escalation.create({ data: { ...stored, id: randomUUID(), domainId, openedAt: at } });
  return [...closed, { type: 'escalation.opened', domainId, cause, summary, nextAction }];
}

/** The caller must record the returned event in the same transaction. */
export async function closeEscalation(
  tx: Tx,
  domainId: string,
  reason: EscalationEnd,
  at: Date,
): Promise<readonly NewEvent[]> {
  const open = await tx.escalation.findFirst({ where: { domainId, closedAt: null } });
  if (open === null) return [];
  await tx.escalation.update({ where: { id: open.id }, data: { closedAt: at } });
  return [{ type: 'escalation.closed', domainId, cause: open.cause, reason }];
}

/** On an operator's request. Idempotent. */
export function closeForOperator(
  prisma: PrismaClient,
  _operator: Installation,
  id: string,
  at: Date,
): Promise<EscalationRow | null> {
  const find = {
    where: { id },
    include: { domain: { select: { projectId: true, hostname: true } } },
  };
  return prisma.$transaction(async (tx) => {
    const found = await tx.escalation.findUnique(find);
    if (found === null || found.closedAt !== null) return found;
    // Locks the domain's row first, like every write to a domain.
    await tx.$queryRaw`SELECT 1 FROM domain WHERE id = ${found.domainId}::uuid FOR UPDATE`;
    const { count } = await tx.escalation.updateMany({
      where: { id, closedAt: null },
      data: { closedAt: at },
    });
    const { cause, domainId } = found;
    const reason = 'closed_by_operator';
    if (count > 0)
      await recordEvents(tx, [{ type: 'escalation.closed', domainId, cause, reason }], at);
    return tx.escalation.findUnique(find);
  });
}

export async function loadOpenEscalation(
  prisma: PrismaClient,
  domainId: string,
): Promise<OpenEscalation | null> {
  const open = await prisma.escalation.findFirst({ where: { domainId, closedAt: null } });
  if (open === null) return null;
  return { cause: open.cause, evidence: readEvidence(open.evidence), openedAt: open.openedAt };
}

/** Of every project, newest first. */
export async function loadEscalations(
  prisma: PrismaClient,
  _operator: Installation,
  { status, after, limit }: EscalationQuery,
): Promise<Page<EscalationRow>> {
  const rows = await prisma.escalation.findMany({
    where: {
      ...(status !== null && { closedAt: status === 'open' ? null : { not: null } }),
      ...beyondPlace('openedAt', after, 'desc'),
    },
    include: { domain: { select: { projectId: true, hostname: true } } },
    orderBy: [{ openedAt: 'desc' }, { id: 'desc' }],
    take: limit + 1,
  });
  return pageOf(rows, limit, ({ openedAt, id }) => ({ at: openedAt, id }));
}

const noEvidence: EscalationEvidence = {
  findings: [],
  problem: null,
  refusals: 0,
  probes: [],
  setback: null,
  budget: null,
  quarantine: null,
  candidate: null,
  nextAttempt: null,
  servedUntil: null,
};

/** Fields unknown to the writing version are empty or null. */
export function readEvidence(stored: unknown): EscalationEvidence {
  return { ...noEvidence, ...(stored as Partial<EscalationEvidence>) }; // only written here
}

/** Plain JSON, but Prisma's type requires an index signature. */
function toJson(evidence: EscalationEvidence): Prisma.InputJsonObject {
  return { ...evidence } as Prisma.InputJsonObject;
}
