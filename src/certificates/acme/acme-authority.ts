/**
 * A certificate authority (CA) with an RFC 8555 directory:
 *
 *   newOrder ─▶ pending ─ challenge ─▶ ready ─ finalize ─▶ processing ─▶ valid ─ download
 *
 * The order's status decides the next step, so a run after a crash continues it.
 */
import type { KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE } from '../../core/time.ts';
import type {
  CertificateAuthority,
  ChallengeType,
  OrderProblem,
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
import { plainLine, toProblem } from './problems.ts';
import {
  type AcmeAuthorization,
  type AcmeOrder,
  certificateIdOf,
  fetchAuthorization,
  fetchOrder,
  fetchRenewalInfo,
  lostWhere404,
} from './resources.ts';
import {
  type AcmeRefusal,
  type AcmeReply,
  createAcmeSession,
  type Directory,
  keyAuthorization,
} from './session.ts';
import { createTransport } from './transport.ts';

/** How long one call of `advance` polls before it leaves the order open. */
const ADVANCE_MS_MAX = MINUTE;

export type AcmeAuthorityDeps = {
  readonly directoryUrl: string;
  /** PEM to trust instead of the system's roots. */
  readonly trust: string | null;
  readonly account: AcmeAccountDeps;
  readonly challenge: ChallengeType;
  /** Null: the CA's default. */
  readonly profile: string | null;
  /** For a whole response. */
  readonly timeoutMs?: number | undefined;
  readonly now: () => Date;
};

type OrderRun = {
  readonly account: AcmeAccount;
  readonly order: OrderState;
  readonly steps: OrderSteps;
  readonly challenge: ChallengeType;
  readonly pacer: () => Pacer;
};

/** Sends nothing before the first call. Throws if `directoryUrl` is not a URL. */
export function createAcmeAuthority(deps: AcmeAuthorityDeps): CertificateAuthority {
  const { directoryUrl, now } = deps;
  const transport = createTransport(deps.trust, deps.timeoutMs);
  const session = createAcmeSession({ directoryUrl, transport, now });
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
      // Fails here if the CA is down, before an attempt takes a token.
      await session.reach();
      await steps.beforePlacing('opened');
      const url = await placeOrder(account, await session.directory(), wanted, steps);
      if (typeof url !== 'string') return { kind: 'refused', problem: url.problem };
      // Stored before the next request, so that a run after a crash continues this order.
      await steps.orderPlaced(url);
      return follow(run, url);
    },
    renewalInfo: (chain) => fetchRenewalInfo(session, chain, now),
  };
}

async function follow(run: OrderRun, url: string): Promise<OrderResult> {
  const pacer = run.pacer();
  for (;;) {
    const order = await fetchOrder(run.account, url);
    if (order.kind === 'refused') return refused(order);
    const end = await takeStep(run, order);
    if (end !== null) return end.kind === 'refused' ? refused(end) : end;
    await pacer.wait(order.retryAfter);
  }
}

/** RFC 8555, 7.4. Null until the order ends. */
function takeStep(run: OrderRun, order: AcmeOrder): Promise<OrderResult | AcmeRefusal | null> {
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

async function authorizeAll(
  run: OrderRun,
  order: AcmeOrder,
): Promise<Refused | AcmeRefusal | null> {
  const answering = { type: run.challenge, steps: run.steps };
  for (const url of order.authorizations) {
    const end = await authorize(run.account, url, answering, run.pacer());
    if (end !== null) return end;
  }
  return null;
}

async function finalize({ account, order: { hostname, privateKey } }: OrderRun, order: AcmeOrder) {
  const csr = await createSigningRequest(hostname, privateKey);
  const payload = { csr: csr.toString('base64url') };
  const reply = await account.post({ url: order.finalize, payload });
  // An earlier run has just finalized it; the order's status will tell.
  const alreadyOnItsWay = reply.kind === 'refused' && reply.problem.type === 'order_not_ready';
  return reply.kind === 'refused' && !alreadyOnItsWay ? reply : null;
}

async function download({ account, order }: OrderRun, { certificate }: AcmeOrder) {
  if (certificate === undefined) {
    throw certificateFault('ca_answer_unreadable', 'the valid order has no certificate');
  }
  const accept = 'application/pem-certificate-chain';
  const reply = await account.post({ url: certificate, payload: null, accept });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const chain = reply.body;
  const { notBefore, notAfter, issuer } = readChecked(chain, order.hostname, order.privateKey);
  return { kind: 'issued', chain, notBefore, notAfter, issuer } as const;
}

/** A response is untrusted: a certificate that does not fit the name must not be stored. */
function readChecked(chain: string, hostname: string, key: KeyObject) {
  const facts = readCertificate(chain);
  if (!facts.hostnames.includes(hostname) || !isForKey(chain, key)) {
    throw certificateFault('ca_answer_unreadable', 'the certificate is for another name or key');
  }
  return facts;
}

async function whyInvalid({ account }: OrderRun, order: AcmeOrder): Promise<Refused | AcmeRefusal> {
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

/** A 429 says nothing about the order; ending it here would create a second one. */
function refused(end: Refused | AcmeRefusal): Refused {
  const { problem } = end;
  if ('status' in end && end.status === 429) {
    const message = `the authority asked to wait: ${problem.detail}`;
    throw certificateFault('order_still_open', message, { retryAfter: problem.retryAfter });
  }
  return { kind: 'refused', problem };
}

export type NewAcmeOrder = {
  readonly hostname: string;
  /** PEM of the certificate to replace; null for a first one. */
  readonly predecessor: string | null;
  /** Null: the CA's default. */
  readonly profile: string | null;
  /** The prefix of the CA's variables, for messages. */
  readonly settings?: AcmeSettings | undefined;
};

/**
 * Resolves with the order's URL. A crash before it is stored leaves an unused order that expires
 * (ACME has no client order ids). Throws `ca_misconfigured` if the directory does not offer the
 * profile.
 */
export async function placeOrder(
  account: AcmeAccount,
  directory: Directory,
  { hostname, predecessor, profile, settings = 'ACME' }: NewAcmeOrder,
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

/** A CA without profile support would silently ignore the field. */
function requireProfile({ meta }: Directory, profile: string, settings: AcmeSettings): void {
  const offered = Object.keys(meta?.profiles ?? {});
  if (offered.includes(profile)) return;
  const list = offered.length === 0 ? 'no profiles' : offered.join(', ');
  const message = `${settings}_PROFILE is ${profile}, but the certificate authority offers ${list}`;
  throw certificateFault('ca_misconfigured', message);
}

async function replacedBy({ renewalInfo }: Directory, predecessor: string | null) {
  return renewalInfo === undefined || predecessor === null ? null : certificateIdOf(predecessor);
}

/** Servers refuse a foreign `replaces` with various types; without it, the order is ordinary. */
function mayBeForItsPredecessor(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type !== 'rate_limited';
}

function urlOf(reply: AcmeReply): string | AcmeRefusal {
  if (reply.kind === 'refused') return reply;
  if (reply.location !== null) return reply.location;
  throw certificateFault('ca_answer_unreadable', 'the new order has no URL');
}

// Proves control of a name with http-01 (RFC 8555, 8.3) or tls-alpn-01 (RFC 8737).

type Answering = { readonly type: ChallengeType; readonly steps: OrderSteps };
/** `isNew`: validation was not requested yet. */
type Offered = { readonly url: string; readonly token: string; readonly isNew: boolean };

/**
 * Null if valid, otherwise the reason. After a crash it publishes the same key authorization again
 * and does not repeat the request. Throws `order_still_open` at the pacer's deadline.
 */
async function authorize(
  account: AcmeAccount,
  url: string,
  answering: Answering,
  pacer: Pacer,
): Promise<Refused | AcmeRefusal | null> {
  for (let answered = false; ; answered = true) {
    const authorization = await fetchAuthorization(account, url);
    if (authorization.kind === 'refused') return authorization;
    if (authorization.status === 'valid') return null;
    if (authorization.status !== 'pending') return refusedBecause(problemIn(authorization));
    if (!answered) {
      const refused = await answer(account, url, authorization, answering);
      if (refused !== null) return refused;
    }
    await pacer.wait(authorization.retryAfter);
  }
}

async function answer(
  account: AcmeAccount,
  url: string,
  authorization: AcmeAuthorization,
  { type, steps }: Answering,
): Promise<Refused | AcmeRefusal | null> {
  const challenge = offeredOf(authorization, type);
  if (challenge === null) return refusedBecause(notOffered(authorization, type));
  const { token } = challenge;
  await steps.publishChallenge({
    type,
    token,
    keyAuthorization: await keyAuthorization(token, await account.key()),
  });
  if (!challenge.isNew) return null;
  // An empty object, not an empty payload, requests validation (RFC 8555, 7.5.1).
  const reply = await account.post({ url: challenge.url, payload: {} });
  return reply.kind === 'answer' || (await isAnswered(account, url, type)) ? null : reply;
}

/** A concurrent run has just requested validation, which must not be repeated (RFC 8555, 7.5.1). */
async function isAnswered(
  account: AcmeAccount,
  url: string,
  type: ChallengeType,
): Promise<boolean> {
  const now = await fetchAuthorization(account, url);
  if (now.kind === 'refused') return false;
  return now.status === 'valid' || offeredOf(now, type)?.isNew === false;
}

function offeredOf({ challenges }: AcmeAuthorization, wanted: ChallengeType): Offered | null {
  const challenge = challenges.find(({ type }) => type === wanted);
  if (challenge?.token === undefined) return null;
  return { url: challenge.url, token: challenge.token, isNew: challenge.status === 'pending' };
}

/** Only the configured challenge reaches the edge, so no other is tried. */
function notOffered({ challenges }: AcmeAuthorization, wanted: ChallengeType): OrderProblem {
  const offered = challenges.map(({ type }) => type).join(', ') || 'none';
  const detail = `The authority offers no ${wanted} challenge for this name. It offers: ${offered}.`;
  return { type: 'challenge_not_offered', detail: plainLine(detail), retryAfter: null };
}

/** The challenge's own error is the most specific. */
function problemIn({ challenges }: AcmeAuthorization): OrderProblem {
  const document = challenges.find(({ error }) => error !== undefined)?.error;
  if (document !== undefined) return toProblem(document);
  const detail = 'The authorization ended without a reason.';
  return { type: 'order_invalid', detail, retryAfter: null };
}

function refusedBecause(problem: OrderProblem): Refused {
  return { kind: 'refused', problem };
}

// Short at first because most answers are ready within a second.

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;
/** RFC 8555, 7.5.1 allows early polls. Servers send a flat 3 or 5 s while a customer waits. */
const EAGER_POLLS = 4;

type Pacer = {
  /** Rejects with `order_still_open` at once if the next poll is after the deadline. */
  readonly wait: (retryAfter: Date | null) => Promise<void>;
};

/** Each polled resource needs its own pacer. */
function createPacer(deadline: Date, now: () => Date): Pacer {
  let polls = 0;
  return {
    async wait(retryAfter) {
      const at = now().getTime();
      const waitMs = nextPollMs(polls++, retryAfter === null ? 0 : retryAfter.getTime() - at);
      if (at + waitMs > deadline.getTime()) {
        const message = 'the authority has not finished the order yet';
        throw certificateFault('order_still_open', message, { retryAfter });
      }
      await delay(waitMs);
    },
  };
}

/** In ms, before poll number `polls` (from 0). `askedMs`: from Retry-After, or 0. */
export function nextPollMs(polls: number, askedMs: number): number {
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** polls, LONGEST_WAIT_MS);
  return polls < EAGER_POLLS ? backOffMs : Math.max(backOffMs, askedMs);
}
