/**
 * A certificate authority behind an RFC 8555 directory:
 *
 *   newOrder ─▶ pending ─ http-01 ─▶ ready ─ finalize ─▶ processing ─▶ valid ─ download
 *
 * What to do next is read off the order itself, so a crash anywhere only means asking again.
 */
import type { KeyObject } from 'node:crypto';
import type {
  CertificateAuthority,
  OrderResult,
  OrderState,
  OrderSteps,
  Refused,
} from '../authority.ts';
import { certificateFault } from '../fault.ts';
import { createSigningRequest } from '../signing-request.ts';
import { isForKey, readCertificate } from '../x509.ts';
import { type AcmeAccount, type AcmeAccountDeps, createAccount } from './account.ts';
import { authorize, problemIn } from './authorize.ts';
import { createPacer, type Pacer } from './pacer.ts';
import { toProblem } from './problems.ts';
import { type AcmeOrder, fetchAuthorization, fetchOrder } from './resources.ts';
import { type AcmeRefusal, type AcmeSession, createSession } from './session.ts';
import { createTransport } from './transport.ts';

/** One call of `advance` follows an order for so long; then the order stays open and the caller comes back. */
const ADVANCE_MS_MAX = 60_000;

export type AcmeAuthorityDeps = {
  readonly directoryUrl: string;
  /** PEM to trust for the directory instead of the system's roots. */
  readonly trust: string | null;
  readonly account: AcmeAccountDeps;
  readonly now: () => Date;
};

/** An order on its way. */
type Run = {
  readonly account: AcmeAccount;
  readonly order: OrderState;
  readonly steps: OrderSteps;
  readonly pacer: () => Pacer;
};

/** The authority behind a directory. Nothing is asked before the first order. */
export function createAcmeAuthority(deps: AcmeAuthorityDeps): CertificateAuthority {
  const { directoryUrl, now } = deps;
  const session = createSession({ directoryUrl, transport: createTransport(deps.trust), now });
  const account = createAccount(session, deps.account);
  return {
    name: new URL(directoryUrl).host,
    accountUri: account.url,
    async advance(order, steps) {
      const deadline = new Date(now().getTime() + ADVANCE_MS_MAX);
      const run = { account, order, steps, pacer: () => createPacer(deadline, now) };
      const url = order.orderUrl ?? (await placeOrder(session, run));
      return typeof url === 'string' ? follow(run, url) : refused(url);
    },
  };
}

/**
 * The new order's URL, already kept by the caller. A crash between the two leaves an order that nobody takes up;
 * it costs nothing and expires (ACME has no client's order id to look for).
 */
async function placeOrder(session: AcmeSession, run: Run): Promise<string | AcmeRefusal> {
  const reply = await run.account.post({
    url: (await session.directory()).newOrder,
    payload: { identifiers: [{ type: 'dns', value: run.order.hostname }] },
  });
  if (reply.kind === 'refused') return reply;
  if (reply.location === null) {
    throw certificateFault('ca_answer_unreadable', 'the new order has no URL');
  }
  await run.steps.orderPlaced(reply.location);
  return reply.location;
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
  for (const url of order.authorizations) {
    const end = await authorize(run.account, url, run.steps, run.pacer());
    if (end !== null) return end;
  }
  return null;
}

async function finalize({ account, order: { hostname, privateKey } }: Run, order: AcmeOrder) {
  const csr = await createSigningRequest(hostname, privateKey);
  const payload = { csr: csr.toString('base64url') };
  const reply = await account.post({ url: order.finalize, payload });
  // Finalized by an earlier run a moment ago: the order itself tells.
  const alreadyOnItsWay = reply.kind === 'refused' && reply.problem.type === 'order_not_ready';
  return reply.kind === 'refused' && !alreadyOnItsWay ? reply : null;
}

async function download({ account, order }: Run, { certificate }: AcmeOrder) {
  if (certificate === undefined) {
    throw certificateFault('ca_answer_unreadable', 'the valid order has no certificate');
  }
  const accept = 'application/pem-certificate-chain'; // RFC 8555, 7.4.2
  const reply = await account.post({ url: certificate, payload: null, accept });
  if (reply.kind === 'refused') return reply;
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

function refused({ problem }: Refused | AcmeRefusal): Refused {
  return { kind: 'refused', problem };
}
