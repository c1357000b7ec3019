import type { FrontRequest, Meddling, Said } from '../../support/acme-front.ts';
import type { Fault, World } from '../fault.ts';
import { addNewcomer, statusOfNewcomer } from '../load/newcomer.ts';
import { sleep, until } from '../system/wait.ts';

const BAD_MS = 20_000;
const RETRY_AFTER_S = 10;

type Misbehaving = {
  readonly name: string;
  readonly what: string;
  readonly pass: string;
  readonly how: (world: World) => Meddling;
  /** Checks the effects during the fault. */
  readonly meanwhile?: (world: World, asked: Asked) => Promise<readonly string[]>;
  readonly mayLoseOrders?: true;
};
type Asked = { readonly newOrders: number; readonly hostname: string };

/** Adds a domain whose certificate is delayed by the fault. */
function misbehaving(given: Misbehaving): Fault {
  const { name, what, pass, how, meanwhile } = given;
  return {
    name: `authority-${name}`,
    what: `${what}, for ${BAD_MS / 1_000} s`,
    pass,
    seconds: BAD_MS / 1_000 + 5,
    parts: ['authority'],
    tolerance: { api: 'none', visitors: 'none' },
    recoverySeconds: 60,
    ...(given.mayLoseOrders && { mayLoseOrders: true }),
    async inject(world) {
      const { authority } = world.system;
      let newOrders = 0;
      const { before, after } = how(world);
      authority.misbehave({
        before(request) {
          if (request.step === 'newOrder') newOrders += 1;
          return before?.(request);
        },
        ...(after && { after }),
      });
      const hostname = await addNewcomer(world, name, 'two.test');
      await sleep(BAD_MS);
      const wrong = (await meanwhile?.(world, { newOrders, hostname })) ?? [];
      authority.misbehave(null);
      const seconds = await secondsUntilLive(world, hostname);
      return { seen: [`its domain live ${seconds.toFixed(0)} s after`], wrong };
    },
  };
}

export const authorityAway = misbehaving({
  name: 'away',
  what: 'no answer to anything',
  pass: 'orders stay open and continue, the domain stays `verified`',
  how: () => ({ before: () => 'hang up' }),
  meanwhile: async (world, { hostname }) => isVerified(world, hostname),
});

export const authorityNonces = misbehaving({
  name: 'bad-nonces',
  what: '90 % of good nonces refused (`badNonce`)',
  pass: 'orders continue, none twice',
  how: ({ random }) => ({
    before: (request) =>
      request.nonce !== null && random.next() < 0.9 ? refused(400, 'badNonce', request) : undefined,
  }),
});

export const authorityBusy = misbehaving({
  name: 'busy',
  what: `429 with \`Retry-After: ${RETRY_AFTER_S}\` for every new order`,
  pass: 'no request before that time',
  how: () => ({
    before: (request) =>
      request.step === 'newOrder'
        ? refused(429, 'rateLimited', request, { 'retry-after': String(RETRY_AFTER_S) })
        : undefined,
  }),
  meanwhile: async (world, { newOrders, hostname }) => {
    // Every name may order once, and again when allowed.
    const [row] = await world.system.sql<{ count: string }>(
      `SELECT count(DISTINCT domain_id) FROM certificate WHERE created_at > now() - interval '30 seconds'`,
    );
    const most = Number(row?.count) * (1 + Math.ceil(BAD_MS / 1_000 / RETRY_AFTER_S));
    const often = newOrders > most ? [`${newOrders} orders for ${row?.count} names`] : [];
    return [...often, ...(await isVerified(world, hostname))];
  },
});

export const authorityProcessing = misbehaving({
  name: 'processing',
  what: 'every order `processing`',
  pass: 'orders stay open, none twice, the domain stays `verified`',
  how: () => ({ after: (request, said) => stillProcessing(request, said) }),
  meanwhile: async (world, { hostname }) => isVerified(world, hostname),
});

function refused(
  status: number,
  type: string,
  { nonce }: FrontRequest,
  headers: Readonly<Record<string, string>> = {},
): Said {
  const body = JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'a fault' });
  const known = nonce === null ? {} : { 'replay-nonce': nonce }; // unused
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...known, ...headers },
    body,
  };
}

function stillProcessing({ step }: FrontRequest, said: Said): Said | undefined {
  if (step !== 'order' && step !== 'finalize') return undefined;
  if (said.status !== 200) return undefined;
  const order = JSON.parse(said.body) as { status: string };
  if (order.status !== 'valid') return undefined;
  const { certificate: _, ...rest } = order as { status: string; certificate?: string };
  return { ...said, body: JSON.stringify({ ...rest, status: 'processing' }) };
}

async function isVerified(world: World, hostname: string): Promise<readonly string[]> {
  const status = await statusOfNewcomer(world, hostname);
  return status === 'verified' ? [] : [`${hostname} is ${status}`];
}

async function secondsUntilLive(world: World, hostname: string): Promise<number> {
  const began = performance.now();
  const isLive = async () => (await statusOfNewcomer(world, hostname)) === 'live';
  await until(`${hostname} is live`, isLive, 120_000);
  return (performance.now() - began) / 1_000;
}
