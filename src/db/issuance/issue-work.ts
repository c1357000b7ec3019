/** What a worker needs to obtain a certificate. */
import type { BudgetWait } from '../../core/certificates/budget.ts';
import type { OrderRefusal } from '../../core/certificates/order-waits.ts';
import type { Certificate } from '../../core/records.ts';
import { type LoadedDomain, toLoadedDomain } from '../domains/domain-row.ts';
import type { Prisma, PrismaClient } from '../generated/client.ts';
import { type AuthorityBudgets, findBudgetWaits } from './authority-budget.ts';

/** Read by several statements, fenced by `domain` when saved. */
export type IssueWork = {
  readonly domain: LoadedDomain;
  readonly order: Certificate | null;
  /** The newest certificate that has not expired: the served one. */
  readonly usable: Certificate | null;
  /** Since verification or issuance. Counted up to 10: later retries wait equally long. */
  readonly refusals: number;
  /** Of the newest refusal. */
  readonly lastProblem: Problem | null;
  /** The newest 10 of any epoch and CA: a `retryAfter` holds across epochs. */
  readonly recentRefusals: readonly AuthorityRefusal[];
  /** CAs whose orders were moved to another CA since then; newest first. */
  readonly left: readonly { readonly authority: string | null; readonly at: Date }[];
  /** For each CA: the limit that a new order waits for. Empty with an external edge. */
  readonly budgetWaits: readonly (BudgetWait | null)[];
  /** The last time that the open order got no answer. */
  readonly setback: Setback | null;
  /** When renewal of a served domain's certificate is next tried. */
  readonly renewAt: Date | null;
};

export type AuthorityRefusal = OrderRefusal & {
  /** The order's directory; null: the local one. */
  readonly authority: string | null;
  readonly type: string;
  /** Since verification, or since its certificate was issued. */
  readonly isOfThisEpoch: boolean;
};

/** Why an open order made no progress without a refusal. */
export type Setback = {
  readonly at: Date;
  /** The first of these setbacks in a row. */
  readonly since: Date;
  /** The CA answered, but is slow or busy. */
  readonly answered: boolean;
  readonly detail: string;
  readonly retryAfter: Date | null;
};

/** Why an order ended without a certificate. */
export type Problem = {
  /** The CA's problem type, or one of our own such as `order_lost`. */
  readonly type: string;
  readonly detail: string;
  /** RFC 3339: the CA's Retry-After for new orders. */
  readonly retryAfter?: string;
};

const REFUSALS_COUNTED = 10;
/** Of an order that was ended without a refusal. */
export const SUPERSEDED = 'superseded';
/** The domain was removed or lost, or the order moved: not a refusal. */
const superseded = {
  problem: { path: ['type'], equals: SUPERSEDED },
} as const satisfies Prisma.CertificateWhereInput;

/** Who has the keys: we, or an external edge. Other certificates are ignored. */
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

export function newestUsable(
  { domainId, source }: Pick<LoadWork, 'domainId' | 'source'>,
  now: Date,
) {
  return {
    where: { domainId, status: 'issued', expiresAt: { gt: now }, ...keyOf[source] },
    orderBy: { createdAt: 'desc' },
  } as const satisfies Prisma.CertificateFindFirstArgs;
}

/** Takes no tokens. Undefined if the domain does not exist or was removed. */
export async function loadIssueWork(
  prisma: PrismaClient,
  { domainId, source, budgets, now }: LoadWork,
): Promise<IssueWork | undefined> {
  const row = await prisma.domain.findFirst({
    where: { id: domainId, removedAt: null },
    include: { observation: true, project: { select: { accountId: true } } },
  });
  if (row === null) return undefined;
  const [order, usable, newest, ended, moved] = await Promise.all([
    prisma.certificate.findFirst({ where: { domainId, status: 'ordering', ...keyOf[source] } }),
    prisma.certificate.findFirst(newestUsable({ domainId, source }, now)),
    prisma.certificate.findFirst({
      where: { domainId, status: 'issued', ...keyOf[source] },
      orderBy: { createdAt: 'desc' },
      select: { endedAt: true },
    }),
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
  const { hostname, projectId, project } = row;
  const wanted = { hostname, projectId, accountId: project.accountId, usable };
  const budgetWaits = source === 'own' ? await findBudgetWaits(prisma, budgets, wanted, now) : [];
  const refused = ended.flatMap(refusalOf);
  const verifiedAt = row.verifiedAt ?? row.pendingSince;
  // Expired or not: refusals before it was issued no longer matter.
  const since = new Date(Math.max(+(newest?.endedAt ?? verifiedAt), +verifiedAt));
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

/** Fields unknown to the writing version get their default. */
export function setbackIn(stored: unknown): Setback | null {
  const setback = stored as StoredSetback | null | undefined; // only written by setBack()
  if (!setback) return null;
  const { at, since = at, answered = false, detail, retryAfter } = setback;
  const asked = retryAfter ? new Date(retryAfter) : null;
  return { at: new Date(at), since: new Date(since), answered, detail, retryAfter: asked };
}

function refusalOf({ endedAt, createdAt, authority, problem: stored }: Certificate) {
  const problem = stored as Problem | null; // only written by refuse()
  if (problem === null) return [];
  const retryAfter = problem.retryAfter === undefined ? null : new Date(problem.retryAfter);
  return [{ at: endedAt ?? createdAt, retryAfter, authority, problem }];
}
