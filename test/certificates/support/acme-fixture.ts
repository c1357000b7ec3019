import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE } from 'dns-packet';
import { createAccount } from '../../../src/certificates/acme/account.ts';
import { createAcmeAuthority } from '../../../src/certificates/acme/acme-authority.ts';
import { createAcmeSession, type ExternalAccount } from '../../../src/certificates/acme/session.ts';
import { createTransport } from '../../../src/certificates/acme/transport.ts';
import type {
  Challenge,
  ChallengeType,
  OrderState,
  OrderSteps,
} from '../../../src/certificates/authorities/authority.ts';
import { generatePrivateKey } from '../../../src/certificates/vault/keys.ts';
import { bare, startEdgeFixture } from '../../edge/support/fixture.ts';
import { type Pebble, type PebbleOptions, startPebble } from '../../support/pebble.ts';

const now = () => new Date();

export type AcmeFixture = Awaited<ReturnType<typeof startAcmeFixture>>;

export type AcmeFixtureOptions = Omit<PebbleOptions, 'httpPort' | 'dnsServer'>;

export async function startAcmeFixture(pebbleOptions: AcmeFixtureOptions = {}) {
  const dns = await startLoopbackDns();
  const edge = await startEdgeFixture();
  const { httpPort, httpsPort: tlsPort } = edge.ports;
  const options = { ...pebbleOptions, httpPort, tlsPort, dnsServer: dns.address };
  let pebble = await startPebble(options);
  return {
    edge,
    get pebble() {
      return pebble;
    },
    /** Replaces it by one without state at the same address. */
    async restart() {
      await pebble.close();
      pebble = await startPebble({ ...options, port: Number(new URL(pebble.directoryUrl).port) });
    },
    async close() {
      await pebble.close();
      await edge.close();
      await dns.close();
    },
  };
}

/** What the database stores of one account and one order; it outlives the clients. */
export function createLedger(
  { edge }: Pick<AcmeFixture, 'edge'>,
  hostname: string,
  contact: string | null = 'ops@signpost.test',
) {
  const key = generatePrivateKey();
  const privateKey = generatePrivateKey();
  if (!edge.routes.has(hostname)) {
    edge.routes.set(hostname, { ...bare, hostname, upstream: null });
  }
  const urls: { account: string | null; orders: string[] } = { account: null, orders: [] };
  const stored: { contact: string | null } = { contact: null };
  const steps: OrderSteps = {
    beforePlacing: async () => undefined,
    async orderPlaced(url) {
      urls.orders.push(url);
    },
    async publishChallenge({ type, token, keyAuthorization }: Challenge) {
      if (type === 'tls-alpn-01') edge.tlsChallenges.set(hostname, keyAuthorization);
      else edge.challenges.set(`${hostname}/${token}`, keyAuthorization);
    },
  };
  return {
    urls,
    stored,
    steps,
    forgetOrder: () => void urls.orders.splice(0),
    order: (): OrderState => ({ hostname, orderUrl: urls.orders.at(-1) ?? null, privateKey }),
    account: {
      contact,
      externalAccount: null,
      load: async () => ({ key, url: urls.account, ...stored }),
      save: async ({ url, contact }: { url: string; contact: string | null }) => {
        urls.account = url;
        stored.contact = contact;
      },
    },
  };
}

export type Ledger = ReturnType<typeof createLedger>;

export type ClientOptions = {
  readonly clock?: () => Date;
  readonly profile?: string;
  readonly challenge?: ChallengeType;
  readonly timeoutMs?: number;
  readonly externalAccount?: ExternalAccount;
};

export function clientOf(
  pebble: Pick<Pebble, 'directoryUrl' | 'caFile'>,
  { account }: Ledger,
  { clock = now, ...deps }: ClientOptions = {},
) {
  const trust = rootOf(pebble);
  return createAcmeAuthority({
    directoryUrl: pebble.directoryUrl,
    trust,
    account: { ...account, externalAccount: deps.externalAccount ?? null },
    challenge: deps.challenge ?? 'http-01',
    profile: deps.profile ?? null,
    timeoutMs: deps.timeoutMs,
    now: clock,
  });
}

export function rootOf({ caFile }: Pick<Pebble, 'caFile'>): string {
  return readFileSync(caFile, 'utf8');
}

/** The orders that the server itself lists for the account (RFC 8555, 7.1.2.1). */
export async function ordersAt(
  pebble: Pick<Pebble, 'directoryUrl' | 'caFile'>,
  { account, urls }: Ledger,
): Promise<string[]> {
  const transport = createTransport(rootOf(pebble));
  const session = createAcmeSession({ directoryUrl: pebble.directoryUrl, transport, now });
  const { post } = createAccount(session, account);
  const read = async (url: string) => {
    const reply = await post({ url, payload: null });
    if (reply.kind === 'refused') throw new Error(reply.problem.detail);
    return JSON.parse(reply.body) as { orders: never }; // Pebble's response, only read in tests
  };
  const shown = await read(urls.account ?? '');
  return (await read(shown.orders)).orders;
}

export type LoopbackDns = { readonly address: string; readonly close: () => Promise<void> };

/** Answers A with 127.0.0.1 and everything else with NODATA. */
async function startLoopbackDns(): Promise<LoopbackDns> {
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port }) => {
    const { id, questions = [] } = decode(message);
    const answers = questions.flatMap(({ name, type }) =>
      type === 'A' ? [{ type, name, ttl: 0, data: '127.0.0.1' } as const] : [],
    );
    const flags = AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE;
    const reply = encode({ type: 'response', id: id ?? 0, flags, questions, answers });
    socket.send(reply, port, address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async close() {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}
