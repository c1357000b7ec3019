/** What a worker loads that is to obtain a certificate: the domain, its open order, and what became of those before. */

import type { BudgetWait } from '../../core/certificates/budget.ts';
import { sharerOf } from '../../core/certificates/budget.ts';
import type { Refusal } from '../../core/certificates/plan.ts';
import type { Certificate } from '../../core/records.ts';
import { type LoadedDomain, toLoadedDomain } from '../domains/domain-row.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { type AuthorityBudgets, findBudgetWaits, noteWaiting } from './authority-budget.ts';

/** Everything that a worker decides from about an order: read by several statements, and fenced by `domain` when saved. */
export type IssueWork = {
  readonly domain: LoadedDomain;
  /** The open order, if there is one. */
  readonly order: Certificate | null;
  /** The newest certificate that has not expired: the one that is served. */
  readonly usable: Certificate | null;
  /**
   * Orders refused since the domain was verified, or since its certificate came, counted up to 10: past the plan's last
   * step the number no longer matters.
   */
  readonly refusals: number;
  /** Why the newest of them was refused; null where none was. */
  readonly lastProblem: Problem | null;
  /** The newest refusals of this domain, 10 at most, of any epoch and authority: a `retryAfter` holds across epochs. */
  readonly recentRefusals: readonly AuthorityRefusal[];
  /** Whose orders were ended for one at another authority since then, and when; the newest first. */
  readonly left: readonly { readonly authority: string | null; readonly at: Date }[];
  /**
   * For each authority in use, in their order: the limit that a new order would meet there now; null where it meets none.
   * Empty where an edge of another make obtains the certificates.
   */
  readonly budgetWaits: readonly (BudgetWait | null)[];
  /** The last time that the open order got no further for want of an answer; null where it never did. */
  readonly setback: Setback | null;
  /** When the certificate of a served domain is next tried to be renewed; null where that is not planned. */
  readonly renewAt: Date | null;
};

/** A refused order, and the authority that it was placed at. */
export type AuthorityRefusal = Refusal & {
  /** Its directory, as the order had it; null: the first authority. */
  readonly authority: string | null;
  readonly type: string;
  /** Since the domain was verified, or since its certificate came. */
  readonly isOfThisEpoch: boolean;
};

/** Why an open order got no further, although nobody refused it. */
export type Setback = {
  readonly at: Date;
  /** When the first of these setbacks in a row was. */
  readonly since: Date;
  /** The authority did answer, and is slow or busy; else it gave none. */
  readonly answered: boolean;
  readonly detail: string;
  /** The authority asked not to be asked before then. */
  readonly retryAfter: Date | null;
};

/** Why an order ended without a certificate. */
export type Problem = {
  /** The authority's problem type, or a word of our own such as `order_lost`. */
  readonly type: string;
  readonly detail: string;
  /** RFC 3339; the authority asked that no order be placed before then. */
  readonly retryAfter?: string;
};

/** So many of the newest ended orders are read. */
const REFUSALS_COUNTED = 10;
/** The problem type of an order that was ended although nobody refused it. */
export const SUPERSEDED = 'superseded';
/** What ended because its domain was removed or lost, or its order moved, was not refused. */
const superseded = {
  problem: { path: ['type'], equals: SUPERSEDED },
} as const satisfies Prisma.CertificateWhereInput;

/** Who has the keys of the certificates: we, or an edge of another make. What the other way left behind does not count. */
export type CertificateSource = 'own' | 'external';

const keyOf = {
  own: { sealedKey: { not: null } },
  external: { sealedKey: null },
} as const satisfies Readonly<Record<CertificateSource, Prisma.CertificateWhereInput>>;

type LoadWork = {
  readonly domainId: string;
  readonly source: CertificateSource;
  readonly budgets: AuthorityBudgets;
  readonly now: Date;
};

/** Prisma's arguments for the newest certificate of a domain that has not expired. */
export function newestUsable(
  { domainId, source }: Pick<LoadWork, 'domainId' | 'source'>,
  now: Date,
) {
  return {
    where: { domainId, status: 'issued', expiresAt: { gt: now }, ...keyOf[source] },
    orderBy: { createdAt: 'desc' },
  } as const satisfies Prisma.CertificateFindFirstArgs;
}

/** Loads what a worker decides from, and notes whether its account waits for its share. Takes no tokens. Undefined where there is no such domain, or it was removed. */
export async function loadIssueWork(
  prisma: PrismaClient,
  { domainId, source, budgets, now }: LoadWork,
): Promise<IssueWork | undefined> {
  const row = await prisma.domain.findFirst({
    where: { id: domainId, removedAt: null },
    include: { observation: true, project: { select: { accountId: true } } },
  });
  if (row === null) return undefined;
  const [order, usable, ended, moved] = await Promise.all([
    prisma.certificate.findFirst({ where: { domainId, status: 'ordering', ...keyOf[source] } }),
    prisma.certificate.findFirst(newestUsable({ domainId, source }, now)),
    prisma.certificate.findMany({
      where: { domainId, status: 'failed', NOT: superseded, ...keyOf[source] },
      orderBy: { createdAt: 'desc' },
      take: REFUSALS_COUNTED,
    }),
    prisma.certificate.findMany({
      where: { domainId, status: 'failed', ...superseded, ...keyOf[source] },
      orderBy: { createdAt: 'desc' },
      take: REFUSALS_COUNTED,
    }),
  ]);
  const owner = { projectId: row.projectId, accountId: row.project.accountId };
  const wanted = { hostname: row.hostname, ...owner, usable };
  const budgetWaits = source === 'own' ? await findBudgetWaits(prisma, budgets, wanted, now) : [];
  const subject = sharerOf(owner);
  if (order === null) await noteWaiting(prisma, budgets, { subject, waits: budgetWaits });
  const refused = ended.flatMap(refusalOf);
  const verifiedAt = row.verifiedAt ?? row.pendingSince;
  const servedSince = usable?.endedAt ?? verifiedAt;
  const since = new Date(Math.max(+servedSince, +verifiedAt));
  const inThisEpoch = refused.filter(({ at }) => at >= since);
  return {
    domain: toLoadedDomain({ ...row, observation: row.observation?.value }),
    order,
    usable,
    refusals: inThisEpoch.length,
    lastProblem: inThisEpoch[0]?.problem ?? null,
    recentRefusals: refused.map(({ at, retryAfter, authority, problem: { type } }) => {
      return { at, retryAfter, authority, type, isOfThisEpoch: at >= since };
    }),
    left: moved.flatMap(({ authority, endedAt }) =>
      endedAt !== null && endedAt >= since ? [{ authority, at: endedAt }] : [],
    ),
    budgetWaits,
    setback: setbackIn(order?.setback),
    renewAt: row.renewAt,
  };
}

type StoredSetback = {
  at: string;
  since?: string;
  answered?: boolean;
  detail: string;
  retryAfter?: string;
};

/** Reads the column; null where it is empty. What the version that wrote it did not have yet has its usual value. */
export function setbackIn(stored: unknown): Setback | null {
  const setback = stored as StoredSetback | null | undefined; // written by setBack() only
  if (!setback) return null;
  const { at, since = at, answered = false, detail, retryAfter } = setback;
  const asked = retryAfter ? new Date(retryAfter) : null;
  return { at: new Date(at), since: new Date(since), answered, detail, retryAfter: asked };
}

function refusalOf({ endedAt, createdAt, authority, problem: stored }: Certificate) {
  const problem = stored as Problem | null; // written by refuse() only
  if (problem === null) return [];
  const retryAfter = problem.retryAfter === undefined ? null : new Date(problem.retryAfter);
  return [{ at: endedAt ?? createdAt, retryAfter, authority, problem }];
}
