import { once } from 'node:events';
import { createServer } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAcmeAuthority, nextPollMs } from '../../src/certificates/acme/acme-authority.ts';
import { retryAfterOf, toProblem } from '../../src/certificates/acme/problems.ts';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { generatePrivateKey } from '../../src/certificates/vault/keys.ts';
import { localhostCertificate } from '../support/localhost-certificate.ts';

const now = new Date('2026-11-20T12:00:00Z');
const acme = 'urn:ietf:params:acme:error:';

describe('An ACME problem', () => {
  const table: readonly [string, string][] = [
    [`${acme}caa`, 'caa'],
    [`${acme}rateLimited`, 'rate_limited'],
    [`${acme}rejectedIdentifier`, 'rejected_identifier'],
    [`${acme}unauthorized`, 'unauthorized'],
    [`${acme}dns`, 'dns'],
    [`${acme}connection`, 'connection'],
    [`${acme}incorrectResponse`, 'incorrect_response'],
    [`${acme}badCSR`, 'bad_csr'],
    [`${acme}somethingNew`, 'other'],
    [`${acme}toString`, 'other'],
    ['caa', 'other'],
    ['about:blank', 'other'],
  ];
  it.each(table)('of type %s maps to %s', (type, ours) => {
    expect(toProblem({ type, detail: '', subproblems: [] }).type).toBe(ours);
  });

  it.each([
    ['connection', 'During secondary validation: 192.0.2.1: Timeout', 'secondary_validation'],
    ['caa', 'During secondary CAA checking: CAA forbids', 'secondary_validation'],
    ['dns', 'DNS problem: query timed out during secondary validation: x', 'dns'],
    ['rateLimited', 'During secondary validation: x', 'rate_limited'],
    ['unknown', 'During secondary validation: x', 'other'],
  ])('of type %s with the detail “%s” maps to %s', (type, detail, ours) => {
    const problem = toProblem({ type: `${acme}${type}`, detail, subproblems: [] });
    expect(problem).toMatchObject({ type: ours, detail });
  });

  it('with subproblems takes its type and detail from the first', () => {
    const subproblems = [{ type: `${acme}caa`, detail: 'CAA forbids' }];
    const problem = toProblem({ type: `${acme}compound`, detail: 'two things', subproblems });
    expect(problem).toMatchObject({ type: 'caa', detail: 'CAA forbids' });
  });

  it.each([
    ['a\nb\u0000c\u202ed\u2028e', 'a b c d e'],
    ['  two   spaces ', 'two spaces'],
    ['\ud800 alone', 'alone'],
    [`${'x'.repeat(499)}😀y`, `${'x'.repeat(499)}😀`],
  ])('is shown as one printable line of at most 500 characters', (detail, shown) => {
    expect(toProblem({ type: '', detail, subproblems: [] }).detail).toBe(shown);
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', '2026-11-20T12:02:00.000Z'],
    ['0', '2026-11-20T12:00:00.000Z'],
    ['Fri, 20 Nov 2026 13:00:00 GMT', '2026-11-20T13:00:00.000Z'],
    ['Fri, 20 Nov 2020 13:00:00 GMT', '2026-11-20T12:00:00.000Z'],
    ['99999999999999999999', '2026-11-27T12:00:00.000Z'],
    ['soon', undefined],
    [undefined, undefined],
  ])('parses "%s" as %s', (text, at) => {
    const headers = text === undefined ? {} : { 'retry-after': text };
    expect(retryAfterOf({ headers }, now)?.toISOString()).toBe(at);
  });

  it('is honored from the fifth poll on; earlier polls use a short backoff', () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 7].map((polls) => nextPollMs(polls, 3_000));
    expect(waits).toEqual([50, 100, 200, 400, 3_000, 3_000, 3_000, 3_000]);
    expect([5, 6, 7].map((polls) => nextPollMs(polls, 0))).toEqual([1_600, 2_000, 2_000]);
  });
});

type Answer = { status: number; headers?: Record<string, string>; body?: string };

/** An HTTPS server with scripted responses by path, for what Pebble never sends. */
async function startScripted(answers: Readonly<Record<string, Answer>>) {
  const { chain, key, root } = await localhostCertificate();
  const server = createServer({ cert: chain, key }, (request, response) => {
    const answer = answers[request.url ?? ''] ?? { status: 500, body: 'not in the script' };
    request.resume();
    const headers = { 'Replay-Nonce': 'abc', ...answer.headers };
    response.writeHead(answer.status, headers).end(answer.body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    base: `https://localhost:${port}`,
    trust: root,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

describe('A CA that', () => {
  const answers: Record<string, Answer> = { '/nonce': { status: 200 } };
  let scripted: Awaited<ReturnType<typeof startScripted>>;
  const directory = (newOrder: string): Answer => ({
    status: 200,
    body: JSON.stringify({
      newNonce: `${scripted.base}/nonce`,
      newAccount: `${scripted.base}/account`,
      newOrder: scripted.base + newOrder,
    }),
  });
  beforeAll(async () => {
    scripted = await startScripted(answers);
  });
  afterAll(() => scripted.close());

  function order(path: string, trust: string | null = scripted.trust) {
    const key = generatePrivateKey();
    const client = createAcmeAuthority({
      directoryUrl: scripted.base + path,
      trust,
      account: {
        contact: null,
        externalAccount: null,
        load: async () => ({ key, url: `${scripted.base}/account/1`, contact: null }),
        save: () => Promise.reject(new Error('no new account')),
      },
      challenge: 'http-01',
      profile: null,
      now: () => now,
    });
    const state = { hostname: 'docs.acme.test', orderUrl: null, privateKey: key };
    const no = () => Promise.reject(new Error('unexpected step'));
    return client.advance(state, {
      beforePlacing: async () => undefined,
      orderPlaced: no,
      publishChallenge: no,
    });
  }
  async function faultOf(path: string, trust?: string | null) {
    const caught: unknown = await order(path, trust).catch((error: unknown) => error);
    return isCertificateFault(caught) ? [caught.code, caught.retryAfter?.toISOString()] : caught;
  }

  it('rate-limits the account says until when', async () => {
    answers['/limited'] = directory('/limited/order');
    answers['/limited/order'] = {
      status: 429,
      headers: { 'Retry-After': '3600' },
      body: JSON.stringify({ type: `${acme}rateLimited`, detail: 'too many certificates' }),
    };
    const retryAfter = new Date('2026-11-20T13:00:00Z');
    const problem = { type: 'rate_limited', detail: 'too many certificates', retryAfter };
    expect(await order('/limited')).toEqual({ kind: 'refused', problem });
  });

  it('answers 503 causes a fault, not a refusal of the domain', async () => {
    answers['/busy'] = directory('/busy/order');
    answers['/busy/order'] = {
      status: 503,
      headers: { 'Retry-After': '120' },
      body: JSON.stringify({ type: `${acme}rateLimited`, detail: 'Service busy' }),
    };
    expect(await faultOf('/busy')).toEqual(['ca_failed', '2026-11-20T12:02:00.000Z']);
  });

  it.each<[string, Answer, string]>([
    ['is not an ACME server', { status: 200, body: '<html>' }, 'ca_answer_unreadable'],
    ['redirects', { status: 302, headers: { Location: 'https://a.test' } }, 'ca_failed'],
    ['answers like a proxy', { status: 403, body: '<html>' }, 'ca_failed'],
    ['sends an endless body', { status: 200, body: ' '.repeat(1_048_577) }, 'ca_unreachable'],
  ])('%s causes a fault', async (_what, answer, code) => {
    answers['/odd'] = answer;
    expect(await faultOf('/odd')).toEqual([code, undefined]);
  });

  it('has an untrusted certificate receives no request', async () => {
    answers['/untrusted'] = directory('/order');
    expect(await faultOf('/untrusted', null)).toEqual(['ca_unreachable', undefined]);
  });

  it('gives a plain HTTP order URL is not followed', async () => {
    answers['/plain'] = {
      status: 200,
      body: JSON.stringify({
        newNonce: `${scripted.base}/nonce`,
        newAccount: 'x',
        newOrder: 'http://localhost/order',
      }),
    };
    expect(await faultOf('/plain')).toEqual(['ca_unreachable', undefined]);
  });
});
