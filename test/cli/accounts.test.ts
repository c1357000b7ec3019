/** `signpost accounts`, and what other commands do for one account, against a running service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/accounts/access.ts';
import { type Service, startApi } from '../support/service.ts';
import { signpost } from './cli.ts';

let service: Service;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  service = await startApi();
  env = { SIGNPOST_API_KEY: service.world.apiKey, SIGNPOST_URL: service.world.apiUrl };
});
afterAll(() => service.close());

const accounts = (...args: readonly string[]) => signpost(['accounts', ...args], env);

async function created(name: string): Promise<string> {
  const { code, stdout } = await accounts('create', '--name', name);
  expect(code).toBe(0);
  return stdout.trimEnd();
}

describe('signpost accounts', () => {
  it('creates an account and prints its ID alone to standard output', async () => {
    const { code, stdout, stderr } = await accounts('create', '--name', 'Example Shop');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(stderr).toBe('Account Example Shop is open. Its ID:\n');
  });

  it('lists them, the one that was there first', async () => {
    const id = await created('Listed');
    const { code, stdout } = await accounts('list');
    expect(code).toBe(0);
    const [head = '', first = '', ...rows] = stdout.trimEnd().split('\n');
    expect(head.split(/ {2,}/)).toEqual(['ID', 'NAME', 'CREATED', 'CLOSED']);
    expect(first).toMatch(new RegExp(`^${DEFAULT_ACCOUNT_ID} +Default +\\S+Z +-$`));
    expect(rows.at(-1)).toMatch(new RegExp(`^${id} +Listed +\\S+Z +-$`));
  });

  it('shows what one uses of its limits, and changes these', async () => {
    const args = ['create', '--name', 'Limited', '--limits', 'domains=5,streams=none'];
    const id = (await accounts(...args)).stdout.trimEnd();
    const rows = async () => {
      const { code, stdout, stderr } = await accounts('show', id);
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/^Account .+, made at .+Z, open\.$/m),
      ]);
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/));
    };
    expect(await rows()).toEqual(
      expect.arrayContaining([
        ['WHAT', 'USED', 'LIMIT'],
        ['domains', '0', '5'],
        ['streams', '0', 'none'],
        ['projects', '0', '100'],
      ]),
    );
    const renamed = await accounts('change', id, '--name', 'Renamed');
    expect(renamed).toMatchObject({ code: 0, stdout: '', stderr: 'Account Renamed is changed.\n' });
    expect((await accounts('change', id, '--limits', 'keys=3')).code).toBe(0);
    expect(await rows()).toEqual(
      expect.arrayContaining([
        ['domains', '0', '1000'],
        ['keys', '0', '3'],
      ]),
    );
    const { stdout } = await accounts('change', id, '--limits', 'default', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ name: 'Renamed', limits: { keys: 100 } });
  });

  it('refuses limits that it cannot read, or that there are not', async () => {
    const id = await created('Misread');
    for (const limits of ['domains', 'domains=many', 'domains=-1', '', 'domains=5;keys=1']) {
      const { code, stderr } = await accounts('change', id, '--limits', limits);
      expect([code, stderr]).toEqual([2, expect.stringContaining('not as in domains=5000,')]);
    }
    expect((await accounts('change', id)).stderr).toContain('give --name or --limits');
    const unknown = await accounts('change', id, '--limits', 'cows=5');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('cows')]);
    expect((await accounts('show', 'nobody')).stderr).toContain('(account_not_found)');
  });

  it('closes one, and says why it does not close another', async () => {
    const id = await created('Closed');
    expect((await accounts('close', id)).code).toBe(0);
    const [closed] = JSON.parse((await accounts('list', '--json')).stdout).slice(-1);
    expect(closed).toMatchObject({ id, closedAt: expect.stringMatching(/Z$/) });
    const { code, stderr } = await accounts('close', DEFAULT_ACCOUNT_ID);
    expect([code, stderr]).toEqual([2, expect.stringContaining('(default_account)')]);
  });

  it('has a key made for one, which reaches nothing else', async () => {
    const account = await created('Customer');
    const args = ['keys', 'create', '--name', 'shop', '--scope', 'admin', '--account', account];
    const { code, stdout } = await signpost(args, env);
    expect(code).toBe(0);
    const own = { ...env, SIGNPOST_API_KEY: stdout.trimEnd() };
    const seen = JSON.parse((await signpost(['accounts', 'list', '--json'], own)).stdout);
    expect(seen.map(({ id }: { id: string }) => id)).toEqual([account]);
    const refused = await signpost(['accounts', 'create', '--name', 'Another'], own);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('(installation_only)'),
    ]);
  });

  it('has every command act for the account of SIGNPOST_ACCOUNT', async () => {
    const account = await created('Acted for');
    const acting = { ...env, SIGNPOST_ACCOUNT: account };
    const args = ['keys', 'create', '--name', 'a', '--scope', 'domains:read', '--json'];
    expect(JSON.parse((await signpost(args, acting)).stdout)).toMatchObject({
      accountId: account,
      projectIds: [],
    });
    const { stdout } = await signpost(['keys', 'list', '--json'], acting);
    expect(JSON.parse(stdout)).toHaveLength(1);
    const nobody = { ...env, SIGNPOST_ACCOUNT: 'nobody' };
    expect(await signpost(['keys', 'list'], nobody)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('(account_not_found)'),
    });
    expect((await signpost(['keys', 'list'], { ...env, SIGNPOST_ACCOUNT: 'ä' })).code).toBe(2);
  });
});
