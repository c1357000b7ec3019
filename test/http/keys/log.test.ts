/**
 * No key may appear in a service's output, wherever a client sends it; only the welcome text shows
 * the first one.
 */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mintKey } from '../../../src/config/api-key.ts';
import { anyPorts, readyLine, storageOf } from '../../process/support.ts';
import { type SignpostProcess, startProcess } from '../../support/process.ts';
import { talk } from '../wire.ts';

const chosen = 'the-key-that-an-operator-chose';
const starts: readonly (readonly [what: string, env: Readonly<Record<string, string>>])[] = [
  ['the first key was made', {}],
  ['an operator chose the first key', { API_KEY: chosen }],
];

describe.each(starts)('When %s', (_what, env) => {
  let storage: Awaited<ReturnType<typeof storageOf>>;
  let service: SignpostProcess;
  let url: string;
  let admin: string;
  beforeAll(async () => {
    storage = await storageOf();
    service = await startProcess({ ...storage.env, ...anyPorts, ...env, LOG_LEVEL: 'trace' });
    const { api = '', firstKey = '' } = readyLine(service);
    url = api.replace(/\/v1$/, '');
    admin = env['API_KEY'] ?? firstKey;
  });
  afterAll(async () => {
    await service.kill();
    await storage.close();
  });

  async function ask(method: string, path: string, key: string, body?: unknown) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  }

  test('no output contains a key that was created, used, mistyped, rotated or revoked', async () => {
    const tokens = [admin, ...(await useKeys()), mintKey().token];
    for (const token of tokens) {
      await ask('GET', '/v1/pets', token);
      await ask('GET', '/v1/pets', `${token.slice(0, -1)}#`);
      await misplace(token);
    }
    const unknown = await failOnAll(tokens);
    await service.stop();
    // Proves that it logs, faults included.
    expect(service.stderr()).toContain('"operationId":"revokeKey"');
    if (unknown.length > 0) expect(service.stderr()).toContain('"msg":"fault"');
    for (const token of [...tokens, ...unknown]) expectUnwritten(token);
  });

  /** Uses and returns every key of a key's life cycle. */
  async function useKeys(): Promise<readonly string[]> {
    const shop = { name: 'shop', scopes: ['pets:read', 'pets:write'] };
    const made = (await ask('POST', '/v1/keys', admin, shop)).body;
    const next = (await ask('POST', `/v1/keys/${made.id}/rotate`, admin, {})).body;
    const other = (await ask('POST', '/v1/keys', admin, { name: 'other', scopes: ['admin'] })).body;
    expect((await ask('DELETE', `/v1/keys/${next.id}`, admin)).status).toBe(204);
    expect((await ask('GET', '/v1/pets', made.key)).status).toBe(200);
    expect((await ask('GET', '/v1/pets', next.key)).status).toBe(401);
    return [made.key, next.key, other.key];
  }

  /** Sends a key in every place where it does not belong. */
  async function misplace(token: string): Promise<void> {
    const { host, port } = new URL(url);
    const basic = Buffer.from(`${token}:`).toString('base64');
    const [get, end] = ['GET /v1/pets HTTP/1.1', `Host: ${host}\r\nConnection: close\r\n\r\n`];
    const headers = [
      `Authorization: ${token}`,
      `Authorization: Basic ${basic}`,
      `Authorization: Bearer ${token}\r\nAuthorization: Bearer ${token}`,
      `Authorization: Bearer ${token}\u0001`,
      `Authorization : Bearer ${token}`,
      ...['X-Request-Id', 'X-Api-Key', 'Traceparent', 'Cookie', 'Referer', 'User-Agent'],
      ...['Origin', 'Forwarded', 'X-Forwarded-For', 'Content-Type', 'Expect', 'If-None-Match'],
      `${token}: 1`,
    ].map((line) => (line.includes(':') ? line : `${line}: ${token}`));
    const body = `{"name":"${token}`;
    const post = (path: string, more = '') =>
      `POST ${path} HTTP/1.1\r\nAuthorization: Bearer ${admin}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n${end}${body}`;
    const requests = [
      ...headers.map((line) => `${get}\r\n${line}\r\n${end}`),
      ...[`/v1/pets?api_key=${token}`, `/v1/pets/${token}`, `/v1/keys/${token}`, `/${token}`].map(
        (target) => `GET ${target} HTTP/1.1\r\nAuthorization: Bearer ${admin}\r\n${end}`,
      ),
      `${token} /v1/pets HTTP/1.1\r\n${end}`,
      `GET /v1/pets ${token}\r\n${end}`,
      `GET /v1/pets HTTP/1.1\r\nHost: ${token}\r\nConnection: close\r\n\r\n`,
      ...['/v1/pets', '/v1/keys'].map((path) => post(path)),
      post('/v1/pets', `Idempotency-Key: ${token}\r\n`),
      token,
    ];
    for (const request of requests) await talk(Number(port), [request], { halfClose: true });
  }

  /** Looks every key up where that fails, because the error is logged. */
  async function failOnAll(tokens: readonly string[]): Promise<readonly string[]> {
    const { DATABASE_URL } = storage.env;
    if (DATABASE_URL === undefined) return [];
    const client = new pg.Client(DATABASE_URL);
    await client.connect();
    await client.query('ALTER TABLE api_key RENAME TO away');
    await client.end();
    const unknown = [mintKey().token, 'a key that is looked up'];
    for (const token of [...unknown, ...tokens]) await ask('GET', '/v1/pets', token);
    return unknown;
  }

  function expectUnwritten(token: string): void {
    const bytes = Buffer.from(token);
    const forms = [
      token,
      token.slice(-38), // without the part that is not secret
      bytes.toString('base64').replace(/=+$/, '').slice(0, -1),
      bytes.toString('hex'),
      [...bytes].join(','),
    ];
    const written = service.stderr() + (token === admin ? '' : service.stdout());
    const lines = written.split('\n').filter((line) => forms.some((form) => line.includes(form)));
    expect(lines).toEqual([]);
  }
});
