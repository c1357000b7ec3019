/** Everything outside the DNS that a certificate needs: the addresses of the name, and the authorities. Stores nothing. */
import type { BudgetWait } from '../../core/certificates/budget.ts';
import type { AddressReach } from '../../core/certificates/reach.ts';
import {
  type AuthorityReach,
  authorityInWords,
  type ReachExpected,
  reachInWords,
} from '../../core/certificates/reach-words.ts';
import type { Transport } from '../acme/transport.ts';
import { readStatusPage } from '../authorities/status-page.ts';
import { askAddresses, type ReachDeps } from './challenge-path.ts';

/** An authority that orders go to. */
export type ReachedAuthority = {
  /** Null: the local one. */
  readonly directoryUrl: string | null;
  readonly transport: Transport;
  readonly statusUrl: string | null;
};

/** What is examined with. */
export type ReachExaminerDeps = Omit<ReachDeps, 'timeoutMs'> & {
  readonly authorities: readonly ReachedAuthority[];
};

/** What is known of a name that is attached; null: it is not, so no edge of ours has to answer. */
export type AttachedName = {
  /** For each authority, in their order. */
  readonly waits: readonly (BudgetWait | null)[];
  readonly refused:
    | (NonNullable<AuthorityReach['refused']> & {
        readonly authority: string | null;
      })
    | null;
};

/** Never rejects for what the network does; takes some 10 s at most. */
export type ExamineReach = (
  hostname: string,
  attached: AttachedName | null,
) => Promise<ReachReport>;

/** Plain JSON; its schema is in src/http/schemas/reach.ts. */
export type ReachReport = ReturnType<typeof reportOf>;

/** Our choice: a visitor would not wait longer. */
const TIMEOUT_MS = 10_000;

/** Only of a name that is attached it is told whether our edge answers: who asks for another's is not told whose it is. */
export function createExamineReach(deps: ReachExaminerDeps): ExamineReach {
  return async (hostname, attached) => {
    const probes = attached === null ? null : deps.probes;
    const [addresses, authorities] = await Promise.all([
      askAddresses({ ...deps, probes, timeoutMs: TIMEOUT_MS }, hostname),
      Promise.all(deps.authorities.map((one, nth) => askAuthority(one, nth, attached))),
    ]);
    const expected = { isAttached: attached !== null, challenge: deps.challenge };
    return reportOf(addresses, authorities, expected);
  };
}

async function askAuthority(
  { directoryUrl, transport, statusUrl }: ReachedAuthority,
  nth: number,
  attached: AttachedName | null,
): Promise<AuthorityReach> {
  const [isAnswering, statusPage] = await Promise.all([
    directoryUrl === null ? null : answers(transport, directoryUrl),
    statusUrl === null ? null : readStatusPage(transport, statusUrl),
  ]);
  const refused = attached?.refused ?? null;
  const isItsOwn = refused !== null && (refused.authority ?? directoryUrl) === directoryUrl;
  const wait = attached?.waits[nth] ?? null;
  return { directoryUrl, isAnswering, statusPage, wait, refused: isItsOwn ? refused : null };
}

async function answers(transport: Transport, url: string): Promise<boolean> {
  const reply = await transport({ method: 'GET', url }).catch(() => null);
  return reply?.status === 200;
}

function reportOf(
  addresses: readonly AddressReach[],
  authorities: readonly AuthorityReach[],
  expected: ReachExpected,
) {
  return {
    addresses: addresses.map(({ end, ...one }) => ({
      ...one,
      outcome: end.outcome,
      redirect: end.outcome === 'bad_redirect' ? { reason: end.reason, to: end.to } : null,
      ...reachInWords({ ...one, end }, expected),
    })),
    authorities: authorities.map((one) => ({
      directoryUrl: one.directoryUrl,
      isAnswering: one.isAnswering,
      statusPage: one.statusPage,
      orderNotBefore: one.wait?.until.toISOString() ?? one.refused?.retryAfter ?? null,
      ...authorityInWords(one),
    })),
  };
}
