/** Open cases for an operator: at most one for a domain. */

import { randomUUID } from 'node:crypto';
import type { EscalationCause, EscalationEvidence } from '../../core/certificates/escalation.ts';
import type { EscalationEnd } from '../../core/life/events.ts';
import type { Escalation } from '../../core/records.ts';
import { schedule, served } from '../domains/commit.ts';
import type { Tx } from '../engine/transaction.ts';
import { type NewEvent, recordEvents } from '../events.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';

export type NewEscalation = {
  readonly cause: EscalationCause;
  /** The cause in words. */
  readonly summary: string;
  readonly nextAction: string;
  readonly evidence: EscalationEvidence;
};

/** `kept`: the case was open for this cause already. `gone`: the domain no longer waits in this epoch; nothing was done. */
export type OpenResult = 'opened' | 'kept' | 'gone';

export type OpenEscalation = {
  readonly cause: string;
  readonly evidence: EscalationEvidence;
  readonly openedAt: Date;
};

/** A case and whose it is. */
export type EscalationRow = Escalation & {
  readonly domain: { readonly projectId: string; readonly hostname: string };
};

/** Where a page starts: after this case, in the order of the list. */
export type EscalationPlace = { readonly openedAt: Date; readonly id: string };

export type EscalationQuery = {
  readonly status: 'open' | 'closed' | null;
  readonly after: EscalationPlace | null;
  readonly limit: number;
};

/** A domain that is served with the certificate that ends then. */
export type Served = {
  readonly id: string;
  readonly epoch: number;
  readonly certificateEndsAt: Date | null;
};

/**
 * Opens the case of a domain that is still verified in this epoch, or brings the open one up to date, and says when it
 * is checked next. A case with another cause is closed first; whoever reads from outside sees one case at any time.
 */
export function openEscalation(
  prisma: PrismaClient,
  domain: { readonly id: string; readonly epoch: number },
  escalation: NewEscalation,
  { at, againAt }: { readonly at: Date; readonly againAt: Date },
): Promise<OpenResult> {
  return prisma.$transaction(async (tx) => {
    // The row lock keeps a certificate from being stored between the check and the insert.
    const waiting = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM domain WHERE id = ${domain.id}::uuid AND epoch = ${domain.epoch}
        AND status = 'verified' AND removed_at IS NULL FOR UPDATE`;
    if (waiting.length === 0) return 'gone';
    await schedule(tx, { id: domain.id, epoch: domain.epoch }, { escalateAt: againAt });
    const events = await placeEscalation(tx, domain.id, escalation, at);
    await recordEvents(tx, events, at);
    return events.length === 0 ? 'kept' : 'opened';
  });
}

/**
 * The same for a domain that is served in this epoch with this certificate still. `wakes`: its renewal is due at once, in
 * the same step.
 */
export function openRenewalEscalation(
  prisma: PrismaClient,
  { id, epoch, certificateEndsAt }: Served,
  escalation: NewEscalation,
  { at, againAt, wakes }: { readonly at: Date; readonly againAt: Date; readonly wakes: boolean },
): Promise<OpenResult> {
  return prisma.$transaction(async (tx) => {
    const served = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM domain WHERE id = ${id}::uuid AND epoch = ${epoch} AND removed_at IS NULL
        AND status IN ('live', 'drifted') AND certificate_ends_at = ${certificateEndsAt} FOR UPDATE`;
    if (served.length === 0) return 'gone';
    await schedule(tx, { id, epoch }, { escalateAt: againAt, ...(wakes && { renewAt: at }) });
    const events = await placeEscalation(tx, id, escalation, at);
    await recordEvents(tx, events, at);
    return events.length === 0 ? 'kept' : 'opened';
  });
}

/** A served domain's certificate turns out to be none that calls for an operator yet: when it would. */
export async function postponeRenewalEscalation(
  prisma: PrismaClient,
  { id, epoch }: Served,
  at: Date,
): Promise<void> {
  await schedule(prisma, { id, epoch, status: { in: served } }, { escalateAt: at });
}

/**
 * The same inside a transaction that holds the domain's row; gives the events to tell in it. The same cause again is
 * no news: only its evidence is brought up to date.
 */
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

/** Closes the open case of a domain, if there is one; gives the event to tell in the same transaction. */
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

/** Closes a case for an operator; one that is closed stays as it is. Null for an id of none. */
export function closeForOperator(
  prisma: PrismaClient,
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
    // As everybody who writes about a domain: its row first.
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

/** The open case of a domain, or null. */
export async function loadOpenEscalation(
  prisma: PrismaClient,
  domainId: string,
): Promise<OpenEscalation | null> {
  const open = await prisma.escalation.findFirst({ where: { domainId, closedAt: null } });
  if (open === null) return null;
  return { cause: open.cause, evidence: evidenceOf(open.evidence), openedAt: open.openedAt };
}

/** Cases of every project, the newest first. */
export function listEscalations(
  prisma: PrismaClient,
  { status, after, limit }: EscalationQuery,
): Promise<EscalationRow[]> {
  return prisma.escalation.findMany({
    where: {
      ...(status !== null && { closedAt: status === 'open' ? null : { not: null } }),
      ...(after !== null && {
        OR: [
          { openedAt: { lt: after.openedAt } },
          { openedAt: after.openedAt, id: { lt: after.id } },
        ],
      }),
    },
    include: { domain: { select: { projectId: true, hostname: true } } },
    orderBy: [{ openedAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** What a case was opened by; the first ones had less of it. */
export function evidenceOf(stored: unknown): EscalationEvidence {
  const known = stored as Partial<EscalationEvidence>; // written by us only, always from an EscalationEvidence
  const { findings = [], problem = null, refusals = 0, probes = [], setback = null } = known;
  const {
    budget = null,
    quarantine = null,
    candidate = null,
    nextAttempt = null,
    servedUntil = null,
  } = known;
  const later = { budget, quarantine, candidate, nextAttempt, servedUntil };
  return { findings, problem, refusals, probes, setback, ...later };
}

/** An EscalationEvidence is plain JSON; Prisma's type asks for an index signature. */
function toJson(evidence: EscalationEvidence): Prisma.InputJsonObject {
  return { ...evidence } as Prisma.InputJsonObject;
}
