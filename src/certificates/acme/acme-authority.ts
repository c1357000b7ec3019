/**
 * A certificate authority behind an RFC 8555 directory:
 *
 *   newOrder ─▶ pending ─ challenge ─▶ ready ─ finalize ─▶ processing ─▶ valid ─ download
 *
 * What to do next is read off the order itself, so a crash anywhere only means asking again.
 */
import type { KeyObject } from 'node:crypto';
import type {
  CertificateAuthority,
  ChallengeType,
  OrderResult,
  OrderState,
  OrderSteps,
  Refused,
} from '../authorities/authority.ts';
import { createSigningRequest } from '../authorities/sign.ts';
import { certificateFault } from '../fault.ts';
import { isForKey, readCertificate } from '../x509.ts';
import {
  type AcmeAccount,
  type AcmeAccountDeps,
  type AcmeSettings,
  createAccount,
} from './account.ts';
import { authorize, problemIn } from './authorize.ts';
import { createPacer, type Pacer } from './pacer.ts';
import { toProblem } from './problems.ts';
import {
  type AcmeOrder,
  certificateIdOf,
  fetchAuthorization,
  fetchOrder,
  fetchRenewalInfo,
  lostWhere404,
} from './resources.ts';
import { type AcmeRefusal, type AcmeReply, createSession, type Directory } from './session.ts';
import { createTransport } from './transport.ts';

/** For so long one call of `advance` follows an order; then the order stays open and the caller comes back. */
const ADVANCE_MS_MAX = 60_000;

/** What an authority behind a directory is made of. */
export type AcmeAuthorityDeps = {
  readonly directoryUrl: string;
  /** PEM to trust for the directory instead of the system's roots; null: those. */
  readonly trust: string | null;
  readonly account: AcmeAccountDeps;
  /** The only kind of challenge that is answered. */
  readonly challenge: ChallengeType;
  /** One of those that the directory offers; null: the authority's default. */
  readonly profile: string | null;
  /** For a whole answer; 10 s unless given. */
  readonly timeoutMs?: number | undefined;
  readonly now: () => Date;
};

/** An order on its way. */
type Run = {
  readonly account: AcmeAccount;
  readonly order: OrderState;
  readonly steps: OrderSteps;
  readonly challenge: ChallengeType;
  readonly pacer: () => Pacer;
};

/** Returns the authority behind a directory. Sends nothing before the first call. Throws where `directoryUrl` is no URL. */
export function createAcmeAuthority(deps: AcmeAuthorityDeps): CertificateAuthority {
  const { directoryUrl, now } = deps;
  const transport = createTransport(deps.trust, deps.timeoutMs);
  const session = createSession({ directoryUrl, transport, now });
  const account = createAccount(session, deps.account);
  return {
    name: new URL(directoryUrl).host,
    reach: session.reach,
    accountUri: account.url,
    async advance(order, steps) {
      const deadline = new Date(now().getTime() + ADVANCE_MS_MAX);
      const { challenge } = deps;
      const run = { account, order, steps, challenge, pacer: () => createPacer(deadline, now) };
      if (order.orderUrl !== null) return follow(run, order.orderUrl);
      const { hostname, predecessor = null } = order;
      const {
        profile,
        account: { settings },
      } = deps;
      const wanted = { hostname, predecessor, profile, settings };
      // What waits for an authority that is away takes no token for each try.
      await session.reach();
      await steps.beforePlacing('opened');
      const url = await placeOrder(account, await session.directory(), wanted, steps);
      if (typeof url !== 'string') return { kind: 'refused', problem: url.problem };
      // Kept before anything else is asked, so that a run after a crash continues this order.
      await steps.orderPlaced(url);
      return follow(run, url);
    },
    renewalInfo: (chain) => fetchRenewalInfo(session, chain, now),
  };
}

async function follow(run: Run, url: string): Promise<OrderResult> {
  const pacer = run.pacer();
  for (;;) {
    const order = await fetchOrder(run.account, url);
    if (order.kind === 'refused') return refused(order);
    const end = await takeStep(run, order);
    if (end !== null) return end.kind === 'refused' ? refused(end) : end;
    await pacer.wait(order.retryAfter);
  }
}

/** What an order's status asks for (RFC 8555, 7.4); null while it is not at its end. */
function takeStep(run: Run, order: AcmeOrder): Promise<OrderResult | AcmeRefusal | null> {
  switch (order.status) {
    case 'pending':
      return authorizeAll(run, order);
    case 'ready':
      return finalize(run, order);
    case 'processing':
      return Promise.resolve(null);
    case 'valid':
      return download(run, order);
    case 'invalid':
      return whyInvalid(run, order);
  }
}

async function authorizeAll(run: Run, order: AcmeOrder): Promise<Refused | AcmeRefusal | null> {
  const answering = { type: run.challenge, steps: run.steps };
  for (const url of order.authorizations) {
    const end = await authorize(run.account, url, answering, run.pacer());
    if (end !== null) return end;
  }
  return null;
}

async function finalize({ account, order: { hostname, privateKey } }: Run, order: AcmeOrder) {
  const csr = await createSigningRequest(hostname, privateKey);
  const payload = { csr: csr.toString('base64url') };
  const reply = await account.post({ url: order.finalize, payload });
  // Finalized by an earlier run a moment ago: the order itself says so.
  const alreadyOnItsWay = reply.kind === 'refused' && reply.problem.type === 'order_not_ready';
  return reply.kind === 'refused' && !alreadyOnItsWay ? reply : null;
}

async function download({ account, order }: Run, { certificate }: AcmeOrder) {
  if (certificate === undefined) {
    throw certificateFault('ca_answer_unreadable', 'the valid order has no certificate');
  }
  const accept = 'application/pem-certificate-chain'; // RFC 8555, 7.4.2
  const reply = await account.post({ url: certificate, payload: null, accept });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const chain = reply.body;
  const { notBefore, notAfter, issuer } = readChecked(chain, order.hostname, order.privateKey);
  return { kind: 'issued', chain, notBefore, notAfter, issuer } as const;
}

/** An authority's answer is foreign input: a certificate that could not serve the name must not be stored. */
function readChecked(chain: string, hostname: string, key: KeyObject) {
  const facts = readCertificate(chain);
  if (!facts.hostnames.includes(hostname) || !isForKey(chain, key)) {
    throw certificateFault('ca_answer_unreadable', 'the certificate is for another name or key');
  }
  return facts;
}

async function whyInvalid({ account }: Run, order: AcmeOrder): Promise<Refused | AcmeRefusal> {
  if (order.error !== undefined) return { kind: 'refused', problem: toProblem(order.error) };
  for (const url of order.authorizations) {
    const authorization = await fetchAuthorization(account, url);
    if (authorization.kind === 'refused') return authorization;
    if (authorization.status === 'invalid') {
      return { kind: 'refused', problem: problemIn(authorization) };
    }
  }
  const detail = 'The order ended without a reason.';
  return { kind: 'refused', problem: { type: 'order_invalid', detail, retryAfter: null } };
}

/**
 * Ends the order. A server that only asks us to slow down (429) has said nothing about the order: ending it here would
 * mean to place a second one while it is open there.
 */
function refused(end: Refused | AcmeRefusal): Refused {
  const { problem } = end;
  if ('status' in end && end.status === 429) {
    const message = `the authority asked us to wait: ${problem.detail}`;
    throw certificateFault('order_still_open', message, { retryAfter: problem.retryAfter });
  }
  return { kind: 'refused', problem };
}

/** What is ordered. */
export type NewOrder = {
  readonly hostname: string;
  /** PEM of the certificate that this one is to replace; null for a first one. */
  readonly predecessor: string | null;
  /** Null: the authority's default. */
  readonly profile: string | null;
  /** Whose setting the profile is, for the message; `ACME` unless given. */
  readonly settings?: AcmeSettings | undefined;
};

/**
 * Places an order and resolves with its URL, or with the refusal. A crash before the caller has kept the URL leaves an
 * order that nobody continues; it costs nothing and expires (ACME has no client's order id to search for). Throws
 * `ca_misconfigured` where the directory does not offer the profile.
 */
export async function placeOrder(
  account: AcmeAccount,
  directory: Directory,
  { hostname, predecessor, profile, settings = 'ACME' }: NewOrder,
  { beforePlacing }: Pick<OrderSteps, 'beforePlacing'>,
): Promise<string | AcmeRefusal> {
  if (profile !== null) requireProfile(directory, profile, settings);
  const order = {
    identifiers: [{ type: 'dns', value: hostname }],
    ...(profile === null ? {} : { profile }), // draft-ietf-acme-profiles, 4
  };
  const replaces = await replacedBy(directory, predecessor);
  const place = (payload: object) => account.post({ url: directory.newOrder, payload });
  const reply = replaces === null ? await place(order) : await place({ ...order, replaces });
  if (replaces === null || !mayBeForItsPredecessor(reply)) return urlOf(reply);
  await beforePlacing('plain');
  return urlOf(await place(order));
}

/** An authority that does not know profiles would ignore one without a word. */
function requireProfile({ meta }: Directory, profile: string, settings: AcmeSettings): void {
  const offered = Object.keys(meta?.profiles ?? {});
  if (offered.includes(profile)) return;
  const list = offered.length === 0 ? 'no profiles' : offered.join(', ');
  const message = `${settings}_PROFILE is ${profile}, but the certificate authority offers ${list}`;
  throw certificateFault('ca_misconfigured', message);
}

/** The field is for servers that offer renewal information (RFC 9773, 5). */
async function replacedBy({ renewalInfo }: Directory, predecessor: string | null) {
  return renewalInfo === undefined || predecessor === null ? null : certificateIdOf(predecessor);
}

/**
 * `alreadyReplaced`; or the predecessor is another authority's, or an earlier account's, which servers word as they
 * like. The field is a courtesy: without it the order is an ordinary one. A limit holds for both.
 */
function mayBeForItsPredecessor(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type !== 'rate_limited';
}

function urlOf(reply: AcmeReply): string | AcmeRefusal {
  if (reply.kind === 'refused') return reply;
  if (reply.location !== null) return reply.location;
  throw certificateFault('ca_answer_unreadable', 'the new order has no URL');
}
