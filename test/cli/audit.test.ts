/** `signpost audit` against a running service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startApi } from '../support/service.ts';
import { signpost } from './cli.ts';

let service: Service;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  service = await startApi();
  const { apiKey, apiUrl } = service.world;
  env = { SIGNPOST_API_KEY: apiKey, SIGNPOST_URL: apiUrl };
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const post = (path: string, body: object) =>
    fetch(apiUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  await post('/v1/accounts', { name: 'Acme' });
  await post('/v1/projects', { name: 'Docs', slug: 'docs' });
  const acting = { ...headers, 'signpost-account': '0198c1e0-4b1d-4f0a-8c2e-6a9d3e5f7b21' };
  const body = JSON.stringify({ name: 'Docs', slug: 'more' });
  await fetch(`${apiUrl}/v1/projects`, { method: 'POST', headers: acting, body });
}, 60_000);
afterAll(() => service?.close());

const audit = (...args: readonly string[]) => signpost(['audit', ...args], env);

describe('signpost audit', () => {
  it('shows who did what in a table, the newest first', async () => {
    const { code, stdout, stderr } = await audit();
    expect([code, stderr]).toEqual([0, '']);
    const [headings = '', ...rows] = stdout.trimEnd().split('\n');
    expect(headings.split(/\s{2,}/)).toEqual([
      'AT',
      'ACTOR',
      'KEY',
      'OPERATION',
      'OBJECT',
      'OUTCOME',
      'ADDRESS',
      'REQUEST',
    ]);
    const shown = rows.map((row) => row.split(/\s{2,}/));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const any = expect.any(String);
    const whose = [time, 'installation', 'configured'];
    expect(shown).toEqual([
      [...whose, 'createProject', 'project', 'refused (account_not_found)', any, any],
      [...whose, 'createProject', expect.stringMatching(/^project .{36}$/), 'done', any, any],
      [...whose, 'createAccount', expect.stringMatching(/^account .{36}$/), 'done', any, any],
    ]);
  });

  it('shows what was asked for', async () => {
    const { stdout } = await audit('--operation', 'createAccount', '--key', 'configured');
    expect(stdout.match(/createAccount/g)).toHaveLength(1);
    expect(stdout).not.toContain('createProject');
    expect((await audit('--limit', '1')).stdout.trimEnd().split('\n')).toHaveLength(2);
    expect((await audit('--to', '1h')).stdout.trimEnd().split('\n')).toHaveLength(1);
    expect((await audit('--from', '1h')).stdout.trimEnd().split('\n')).toHaveLength(4);
    expect((await audit('--from', '2099-01-01T00:00:00Z')).stdout).not.toContain('create');
  });

  it('passes the API’s own JSON on', async () => {
    const { code, stdout } = await audit('--json', '--operation', 'createAccount');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ operationId: 'createAccount', outcome: 'done' }]);
  });

  it('says what the service refuses', async () => {
    const { code, stdout, stderr } = await audit('--limit', '1000');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('limit');
  });
});
