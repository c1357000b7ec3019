import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseKey } from '../../src/config/api-key.ts';
import { freePort } from '../support/servers.ts';
import { type RunningService, startApi } from '../support/service.ts';
import { signpost, spawnSignpost } from './cli.ts';

let service: RunningService;
let apiKey: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  service = await startApi();
  apiKey = service.world.apiKey;
  env = { SIGNPOST_API_KEY: apiKey, SIGNPOST_URL: service.world.apiUrl };
});
afterAll(() => service.close());

const keys = (...args: readonly string[]) => signpost(['keys', ...args], env);
const statusWith = async (key: string) => {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${env['SIGNPOST_URL']}/v1/pets`, { headers })).status;
};
const idOf = (key: string) => key.split('_')[1] ?? '';

/** A new key, as a shell's `$(…)` receives it. */
async function created(...args: readonly string[]): Promise<string> {
  const { code, stdout } = await keys('create', '--name', 'shop', ...args);
  expect(code).toBe(0);
  return stdout.trimEnd();
}

describe('signpost keys create', () => {
  it('prints only the token to standard output, and details to standard error', async () => {
    const scopes = ['--scope', 'pets:read, pets:write', '--scope', 'ops:read'];
    const { code, stdout, stderr } = await keys('create', '--name', 'the shop', ...scopes);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^signpost_\w+\n$/);
    const key = stdout.trimEnd();
    expect(parseKey(key)).toEqual({ kind: 'ours', id: idOf(key) });
    expect(stderr).toBe(
      `Key ${idOf(key)} (the shop): scopes pets:read, pets:write, ops:read, without expiry.\nCopy the token now. It is not shown again:\n`,
    );
    expect(await statusWith(key)).toBe(200);
  });

  it.each(['90d', '2160h', '129600m', '7776000s'])('creates a key valid for %s', async (span) => {
    const before = Date.now();
    const args = ['--name', 'a', '--scope', 'pets:read', '--expires', span, '--json'];
    const { expiresAt } = JSON.parse((await keys('create', ...args)).stdout);
    const left = Date.parse(expiresAt) - 90 * 86_400_000;
    expect(left).toBeGreaterThanOrEqual(before);
    expect(left).toBeLessThanOrEqual(Date.now());
  });

  it('creates a key that expires at a given time', async () => {
    const end = '2099-01-01T00:00:00+01:00';
    const args = ['--name', 'a', '--scope', 'pets:read', '--expires', end, '--json'];
    const { stdout } = await keys('create', ...args);
    expect(JSON.parse(stdout)).toMatchObject({
      expiresAt: '2098-12-31T23:00:00.000Z',
      key: expect.stringMatching(/^signpost_/),
    });
  });
});

describe('signpost keys list', () => {
  it('lists every key in a table without terminal control sequences', async () => {
    const name = 'red \u001b[31m\nshop';
    await keys(
      'create',
      '--name',
      name,
      '--scope',
      'pets:read',
      '--expires',
      '2099-01-01T00:00:00Z',
    );
    const { code, stdout, stderr } = await keys('list');
    expect([code, stderr]).toEqual([0, '']);
    const [head = '', configured, ...rows] = stdout.trimEnd().split('\n');
    expect(head.split(/ {2,}/)).toEqual([
      ...['ID', 'NAME', 'STATUS', 'SCOPES', 'ACCOUNT', 'CREATED', 'EXPIRES', 'LAST USED'],
      ...['SUCCESSOR', 'DEPRECATED CALLS'],
    ]);
    expect(configured).toMatch(
      /^configured +API_KEY +active +admin +- +\d{4}-\d\d-\d\dT[\d:]+Z +- +/,
    );
    const [row = ''] = rows.slice(-1);
    expect(row.slice(head.indexOf('NAME'), head.indexOf('STATUS')).trim()).toBe(
      'red \\u{1b}[31m\\u{a}shop',
    );
    expect(row.slice(head.indexOf('EXPIRES'))).toMatch(/^2099-01-01T00:00:00Z +- +- +-$/);
  });

  it('prints the API response with --json', async () => {
    const { code, stdout } = await keys('list', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)[0]).toMatchObject({ id: 'configured', prefix: null });
  });

  it('accepts the URL and the key as options, too', async () => {
    const { SIGNPOST_URL: url = '' } = env;
    for (const given of [url, `${url}/`, `${url}/v1`, `${url}/v1/`]) {
      const { code } = await signpost(['keys', 'list', '--url', given], { API_KEY: apiKey });
      expect(code).toBe(0);
    }
  });
});

describe('An .env file', () => {
  it('provides the key and URL that the environment lacks, as for the service', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signpost-cli-'));
    try {
      const { SIGNPOST_URL: url = '' } = env;
      await writeFile(join(folder, '.env'), `API_KEY=${apiKey}\nSIGNPOST_URL=${url}\n`);
      expect((await spawnSignpost(['keys', 'list'], {}, folder)).code).toBe(0);
      const other = await spawnSignpost(['keys', 'list'], { API_KEY: 'of somebody else' }, folder);
      expect(other.stderr).toContain('(unauthorized)');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('signpost keys rotate and revoke', () => {
  it('prints the successor’s token; both keys work until one is revoked', async () => {
    const old = await created('--scope', 'pets:read');
    const { code, stdout, stderr } = await keys('rotate', idOf(old), '--grace', '2h');
    const next = stdout.trimEnd();
    expect(code).toBe(0);
    expect(stderr).toContain(
      `It replaces ${idOf(old)}, which works for 2h more, or until it expires.\n`,
    );
    expect([await statusWith(old), await statusWith(next)]).toEqual([200, 200]);
    const revoked = await keys('revoke', `signpost_${idOf(old)}`);
    expect(revoked).toEqual({ code: 0, stdout: '', stderr: `Key ${idOf(old)} was revoked.\n` });
    expect([await statusWith(old), await statusWith(next)]).toEqual([401, 200]);
  });

  it('without a grace period ends the old key', async () => {
    const old = await created('--scope', 'pets:read');
    const { stderr } = await keys('rotate', idOf(old), '--grace', '0');
    expect(stderr).toContain(`It replaces ${idOf(old)}, which no longer works.\n`);
    expect(await statusWith(old)).toBe(401);
  });
});

describe('A failing signpost keys prints one line', () => {
  const refusals: readonly (readonly [args: readonly string[], problem: RegExp])[] = [
    [['revoke', 'configured'], /^No other key with the scope admin .* \(last_admin_key\)$/],
    [['revoke', 'nobody'], /^There is no key with this ID\. \(key_not_found\)$/],
    [['rotate', 'nobody'], /\(key_not_found\)$/],
    [
      ['create', '--name', 'a', '--scope', 'pets:eat'],
      /^scopes\[0\]: must be one of .*invalid_body\)$/,
    ],
    [
      ['create', '--name', 'a', '--scope', 'admin', '--expires', '2001-01-01'],
      /^expiresAt: must be/,
    ],
    [['rotate', 'configured', '--grace', '31d'], /^graceSeconds: must be .* 0 to 2592000/],
  ];
  it.each(refusals)('%j: %s', async (args, problem) => {
    const { code, stdout, stderr } = await keys(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^signpost: [^\n]+\n$/);
    expect(stderr.trim().replace('signpost: ', '')).toMatch(problem);
  });

  it('for an invalid key', async () => {
    const ran = await signpost(['keys', 'list'], {
      ...env,
      SIGNPOST_API_KEY: 'nobody’s'.slice(0, 6),
    });
    expect(ran).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'signpost: This API key does not exist. Check that it is complete. The key came from SIGNPOST_API_KEY or, if that is empty, from API_KEY. (unauthorized)\n',
    });
  });

  it.each(['127.0.0.1', 'localhost'])('for an unreachable service: %s', async (host) => {
    const url = `http://${host}:${await freePort()}`;
    const { code, stderr } = await signpost(['keys', 'list', '--url', url], env);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `signpost: Signpost is not running at ${url}. Start it with npm start in its folder, or use --url or SIGNPOST_URL for another address\n`,
    );
  });

  it('for a redirect to another service, which does not receive the key', async () => {
    const asked: string[] = [];
    const other = createServer((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/v1/keys') response.writeHead(302, { location: '/elsewhere' }).end();
      else response.end('<h1>Hello\u001b[31m</h1>');
    });
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    try {
      const { port } = other.address() as AddressInfo;
      const base = `http://127.0.0.1:${port}`;
      const redirected = await signpost(['keys', 'list', '--url', base], env);
      expect(redirected).toMatchObject({ code: 2, stdout: '' });
      expect(asked).toEqual(['/v1/keys']);
      const page = await signpost(['keys', 'list', '--url', `${base}/app`], env);
      expect(page).toEqual({
        code: 2,
        stdout: '',
        stderr: `signpost: ${base}/app is not a Signpost service (status 200)\n`,
      });
    } finally {
      other.closeAllConnections();
      other.close();
    }
  });
});
