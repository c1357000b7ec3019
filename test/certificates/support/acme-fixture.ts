/** A real Pebble that validates against a real edge, and clients of it that can be started anew. */
import { readFileSync } from 'node:fs';
import { createAccount } from '../../../src/certificates/acme/account.ts';
import { createAcmeAuthority } from '../../../src/certificates/acme/acme-authority.ts';
import { createSession } from '../../../src/certificates/acme/session.ts';
import { createTransport } from '../../../src/certificates/acme/transport.ts';
import type { Challenge, OrderState, OrderSteps } from '../../../src/certificates/authority.ts';
import { generateCertificateKey, generateSigningKey } from '../../../src/certificates/keys.ts';
import { startEdgeFixture } from '../../edge/support/fixture.ts';
import { type Pebble, startPebble } from '../../support/pebble.ts';
import { startLoopbackDns } from './loopback-dns.ts';

const now = () => new Date();

export type AcmeFixture = Awaited<ReturnType<typeof startAcmeFixture>>;

export async function startAcmeFixture({ nonceReject = 5 }: { nonceReject?: number } = {}) {
  const dns = await startLoopbackDns();
  const edge = await startEdgeFixture();
  const options = { httpPort: edge.ports.httpPort, dnsServer: dns.address, nonceReject };
  const pebble = await startPebble(options);
  return {
    edge,
    pebble,
    /** The server at its old address, with nothing left of what it knew. */
    async restart() {
      await pebble.close();
      return startPebble({ ...options, port: Number(new URL(pebble.directoryUrl).port) });
    },
    async close() {
      await pebble.close();
      await edge.close();
      await dns.close();
    },
  };
}

/** What the database keeps of one account and one order; it outlives the clients over it. */
export function createLedger({ edge }: Pick<AcmeFixture, 'edge'>, hostname: string) {
  const key = generateSigningKey();
  const privateKey = generateCertificateKey();
  const urls: { account: string | null; orders: string[] } = { account: null, orders: [] };
  const steps: OrderSteps = {
    async orderPlaced(url) {
      urls.orders.push(url);
    },
    async publishChallenge({ token, keyAuthorization }: Challenge) {
      edge.challenges.set(`${hostname}/${token}`, keyAuthorization);
    },
  };
  return {
    urls,
    steps,
    order: (): OrderState => ({ hostname, orderUrl: urls.orders.at(-1) ?? null, privateKey }),
    account: {
      contact: 'ops@signpost.test',
      load: async () => ({ key, url: urls.account }),
      saveUrl: async (url: string) => {
        urls.account = url;
      },
    },
  };
}

export type Ledger = ReturnType<typeof createLedger>;

/** A client as a freshly started process has it. */
export function clientOf(pebble: Pebble, { account }: Ledger, clock: () => Date = now) {
  const trust = readFileSync(pebble.caFile, 'utf8');
  return createAcmeAuthority({ directoryUrl: pebble.directoryUrl, trust, account, now: clock });
}

/** The orders that the server itself lists for the account (RFC 8555, 7.1.2.1). */
export async function ordersAt(pebble: Pebble, { account, urls }: Ledger): Promise<string[]> {
  const transport = createTransport(readFileSync(pebble.caFile, 'utf8'));
  const session = createSession({ directoryUrl: pebble.directoryUrl, transport, now });
  const { post } = createAccount(session, account);
  const read = async (url: string) => {
    const reply = await post({ url, payload: null });
    if (reply.kind === 'refused') throw new Error(reply.problem.detail);
    return JSON.parse(reply.body) as { orders: never }; // Pebble's own answer, read in a test
  };
  const shown = await read(urls.account ?? '');
  return (await read(shown.orders)).orders;
}
