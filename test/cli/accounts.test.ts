import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { type RunningService, startApi } from '../support/service.ts';
import { signpost } from './cli.ts';

let service: RunningService;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  service = await startApi();
  env = { SIGNPOST_API_KEY: service.world.apiKey, SIGNPOST_URL: service.world.apiUrl };
});
afterAll(() => service.close());

const accounts = (...args: readonly string[]) => signpost(['accounts', ...args], env);

async function created(...more: readonly string[]): Promise<string> {
  const { code, stdout } = await accounts('create', '--name', 'Example Inc.', ...more);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)]);
  return stdout.trimEnd();
}

describe('signpost accounts', () => {
  it('lists the default account and others', async () => {
    const id = await created();
    const { code, stdout } = await accounts();
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^ID +NAME +STATE +CREATED$/);
    expect(lines[1]).toMatch(new RegExp(`^${DEFAULT_ACCOUNT_ID} +Default +default +\\d{4}-`));
    expect(lines.find((line) => line.startsWith(id))).toMatch(/ Example Inc\. +open +\d{4}-/);
  });

  it('sets limits, and shows what is used', async () => {
    const id = await created('--limit', 'domains=5', '--limit', 'keys=7');
    const shown = await accounts('show', id);
    const account = new RegExp(`^ID +NAME +STATE +CREATED\n${id} .* open +\\d{4}-.*\n\n`);
    expect(shown.stdout).toMatch(account);
    expect(shown.stdout).toMatch(/\n\nLIMIT +USED +OF\ndomains +0 +5\n/);
    expect(shown.stdout).toMatch(/\nkeys +0 +7\n/);
    expect(shown.stdout).toMatch(/\nstreams +- +50\n/);
    const reset = await accounts(
      'update',
      id,
      '--name',
      'New',
      '--limit',
      'domains=usual',
      '--json',
    );
    expect(JSON.parse(reset.stdout)).toMatchObject({ id, name: 'New', limits: { domains: 1_000 } });
    expect((await accounts('show', DEFAULT_ACCOUNT_ID)).stdout).toMatch(/\ndomains +0 +none\n/);
  });

  it('explains a mistake in a limit', async () => {
    const { code, stderr } = await accounts('create', '--name', 'x', '--limit', 'domains=many');
    expect(code).toBe(2);
    expect(stderr).toContain('--limit domains=many: use a name and a number');
    const unknown = await accounts('create', '--name', 'x', '--limit', 'pets=1');
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('limits.pets')]);
  });

  it('makes a key of an account, and acts for the account', async () => {
    const id = await created();
    const made = ['keys', 'create', '--name', 'k', '--scope', 'domains:read', '--account', id];
    expect((await signpost(made, env)).code).toBe(0);
    const acting = { ...env, SIGNPOST_ACCOUNT: id };
    const { stdout } = await signpost(['keys', 'list'], acting);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(stdout).toContain(id);
    const fleet = await signpost(['fleet'], acting);
    expect([fleet.code, fleet.stderr]).toEqual([2, expect.stringContaining('account_unsupported')]);
    const wrong = await signpost(['keys', 'list'], { ...env, SIGNPOST_ACCOUNT: 'a b' });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('SIGNPOST_ACCOUNT')]);
  });

  it('asks which project is meant if several accounts have the slug', async () => {
    for (const accountId of [await created(), await created()]) {
      const acting = { ...env, SIGNPOST_ACCOUNT: accountId };
      const add = ['domains', 'add', 'shared.shop-cli.test', '--upstream', 'http://127.0.0.1:9/'];
      const added = await signpost([...add, '--project', 'same'], acting);
      expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('Create this')]);
    }
    const remove = ['domains', 'remove', 'shared.shop-cli.test'];
    const unclear = await signpost(remove, env);
    expect(unclear.code).toBe(2);
    const [id = '', other = ''] = unclear.stderr.match(/[0-9a-f-]{36}(?= \(same\))/g) ?? [];
    for (const args of [remove, ['domains', 'add', 'new.shop-cli.test'], ['domains', 'list']]) {
      const refused = await signpost([...args, '--project', 'same'], env);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(other)]);
      expect(refused.stderr).toContain('several accounts have a project same');
    }
    const removed = await signpost([...remove, '--project', id], env);
    expect(removed.code).toBe(0);
    const last = await signpost([...remove, '--project', 'same'], env);
    expect([last.code, last.stderr]).toEqual([0, expect.stringContaining('was removed')]);
  });

  it('changes nothing without an option', async () => {
    const { code, stderr } = await accounts('update', await created());
    expect([code, stderr]).toEqual([2, expect.stringContaining('use --name or --limit')]);
  });

  it('closes an account, with its projects only if asked', async () => {
    const accountId = await created();
    const { apiUrl, apiKey } = service.world;
    const project = { name: 'Docs', slug: 'docs', plan: 'pro', accountId };
    await fetch(`${apiUrl}/v1/projects`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(project),
    });
    const refused = await accounts('close', accountId);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('has 1 project. Delete it first, or use --delete-projects.');
    const closed = await accounts('close', accountId, '--delete-projects');
    expect(closed).toEqual({ code: 0, stdout: '', stderr: `Account ${accountId} is closed.\n` });
    expect((await accounts()).stdout).toMatch(new RegExp(`${accountId} .* closed `));
  });
});
