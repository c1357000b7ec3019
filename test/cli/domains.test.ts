/** Runs against a complete service on embedded storage with the customer's DNS. */

import { constants } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lacks } from '../support/programs.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { signpost, startCommand, typeCommand } from './cli.ts';

let storage: FreshStorage;
let service: RunningService;
let env: Readonly<Record<string, string>>;

const domains = (...args: readonly string[]) => signpost(['domains', ...args], env);

async function post<T>(path: string, body: object): Promise<T> {
  const answer = await service.client.call('POST', path, body);
  expect(answer.status).toBe(201);
  return answer.body as T; // as in docs/integrate/domains.md
}

async function addProject(slug: string): Promise<string> {
  const { id } = await post<{ id: string }>('/v1/projects', { name: slug, slug, plan: 'pro' });
  const deploy = { status: 'succeeded', upstream: service.world.upstream };
  await post(`/v1/projects/${id}/deploys`, deploy);
  return id;
}

async function projectIds(): Promise<readonly string[]> {
  const { body } = await service.client.call('GET', '/v1/projects');
  return (body as readonly { id: string }[]).map(({ id }) => id);
}

async function keyFor(...scopes: readonly string[]): Promise<string> {
  return (await post<{ key: string }>('/v1/keys', { name: 'shell', scopes })).key;
}

let docs = '';
beforeAll(async () => {
  storage = await freshStorage();
  service = await startService({ storage: storage.storage, ca: 'local authority' });
  env = { SIGNPOST_API_KEY: service.world.apiKey, SIGNPOST_URL: service.world.apiUrl };
});
afterAll(async () => {
  await service.close();
  await storage.close();
});

describe('A customer who publishes a domain', () => {
  it('learns what is missing before there is a project or a domain', async () => {
    const { code, stdout, stderr } = await domains('add', 'docs.shop.test');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^signpost: there are no projects yet: create one /);
    const listed = await domains('list');
    expect(listed).toMatchObject({ code: 0, stdout: '' });
    expect(listed.stderr).toBe('No domains yet. To add one: signpost domains add <hostname>\n');
    const upstream = service.world.upstream;
    const first = await domains(
      'add',
      'first.shop.test',
      '--project',
      'docs',
      '--upstream',
      upstream,
    );
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('first') });
    expect((await domains('remove', 'first.shop.test')).code).toBe(0);
    [docs = ''] = await projectIds();
    const shown = await domains('show', 'docs.shop.test');
    expect(shown).toMatchObject({ code: 2, stdout: '' });
    expect(shown.stderr).toMatch(/^signpost: no project has docs\.shop\.test\. /);
  });

  it('adds a name in any spelling to the only project and gets the record', async () => {
    const { code, stdout, stderr } = await domains('add', 'https://Docs.Shop.test/start');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^. docs\.shop\.test · (Waiting for DNS|Action needed) · project docs\n {2}\S/,
    );
    expect(stdout).toMatch(/\n {2}add {2}CNAME {2}docs {2}\w{16}\.edge\.signpost\.test {2}3600\n/);
    expect(stderr).toMatch(/signpost domains verify docs\.shop\.test --wait\n$/);
    const again = await domains('add', 'docs.shop.test');
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain(
      'is already attached. To see it: signpost domains show docs.shop.test',
    );
  });

  it('sees the status, the record, the findings, the certificate and the history', async () => {
    await until('a check', async () =>
      (await domains('show', 'docs.shop.test')).stdout.includes('✗'),
    );
    const { code, stdout } = await domains('show', 'DOCS.shop.test.');
    expect(code).toBe(1);
    const inOrder = [
      '! docs.shop.test · Action needed · project docs Do this at your DNS provider. docs.shop.test does not exist in the DNS yet. ',
      ' Changes at your DNS provider Type Name Value TTL add CNAME docs ',
      ' ✗ record_missing · blocks · the domain owner needs to act ',
      ' found No record ',
      ' to do Create: CNAME docs → ',
      ' Certificate state none yet ',
      ' Last events ',
      'Z Found: record_missing ',
      'Z Added ',
    ];
    const text = stdout.replaceAll(/\s+/g, ' ');
    const places = inOrder.map((part) => text.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(stdout).not.toContain('\u001b');
  });

  it('waits until the domain is live and sees every change on the way', {
    timeout: 180_000,
  }, async () => {
    const { record } = JSON.parse((await domains('show', 'docs.shop.test', '--json')).stdout);
    const args = ['domains', 'verify', 'docs.shop.test', '--wait', '--timeout', '150s'];
    const { said, ended } = startCommand(args, env);
    await until('what is missing', async () => said().includes('✗ record_missing: '));
    await service.world.publish(['docs CNAME elsewhere.example.']);
    await until('the slip', async () => said().includes('✗ cname_mismatch: '));
    await service.world.publish([`docs CNAME ${record.value}.`]);
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✓ docs\.shop\.test · Live · project docs\n {2}Live\. /);
    expect(stdout).toContain('issuer        Signpost local authority');
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d {2}✗ /);
    expect(stderr).toContain('✗ cname_mismatch: docs.shop.test points to elsewhere.example');
    expect(stderr).toContain('  ✓ cname_mismatch is resolved\n');
    expect(stderr).toMatch(/✓ Live\. Nothing to do\. [^✓✗]*\n$/);
  });

  it('waits only for the next check of a live domain', async () => {
    const { code, stdout } = await domains('verify', 'docs.shop.test', '--wait', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ hostname: 'docs.shop.test', status: 'live' });
  });

  it('waits no longer than the given timeout', async () => {
    await domains('add', 'blog.shop.test');
    const args = ['verify', 'blog.shop.test', '--wait', '--timeout', '1s'];
    const { code, stdout, stderr } = await domains(...args);
    expect(code).toBe(1);
    expect(stdout).toContain('blog.shop.test · ');
    expect(stderr).toMatch(/signpost: timed out waiting; checks continue in the background\n$/);
  });

  const noTerminal = lacks('script', 'Ctrl-C at signpost domains verify --wait');
  it.skipIf(noTerminal)(
    'stops waiting with Ctrl-C and learns that the checks continue',
    async () => {
      const { shown, interrupt, ended } = typeCommand(
        ['domains', 'verify', 'blog.shop.test', '--wait'],
        env,
      );
      await until('it waits', async () => shown().includes('Checking blog.shop.test'));
      interrupt();
      expect(await ended).toBe(128 + constants.signals.SIGINT);
      expect(shown()).toContain('Stopped waiting. Checks continue in the background.\r\n');
    },
  );

  it('lists all or some domains, for people and for programs', async () => {
    const { code, stdout, stderr } = await domains('list');
    expect([code, stderr]).toEqual([0, '']);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    expect(head.trim().split(/ {2,}/)).toEqual(['HOSTNAME', 'STATUS', 'PROJECT', 'SUMMARY']);
    expect(rows.map((row) => row.split(/ {2,}/).slice(1, 4))).toEqual([
      ['docs.shop.test', 'live', 'docs'],
      ['blog.shop.test', 'pending', 'docs'],
    ]);
    // A check between the two reads changes its times: both are repeated then.
    await until('the JSON of the API', async () => {
      const live = await domains('list', '--status', 'live,failed', '--project', docs, '--json');
      const api = await service.client.call('GET', `/v1/projects/${docs}/domains/docs.shop.test`);
      return isDeepStrictEqual(JSON.parse(live.stdout), [api.body]);
    });
  });
});

describe('Several projects', () => {
  it('with the same name are distinguished by --project', async () => {
    await addProject('shop');
    const which = await domains('add', 'blog.shop.test');
    expect([which.code, which.stdout]).toEqual([2, '']);
    expect(which.stderr).toMatch(/signpost: choose a project with --project: docs, shop\n$/);
    expect((await domains('add', 'blog.shop.test', '--project', 'shop')).code).toBe(0);
    for (const command of ['show', 'verify', 'remove']) {
      const { code, stderr } = await domains(command, 'blog.shop.test');
      expect(code).toBe(2);
      expect(stderr).toContain(
        'is attached to several projects. Choose one with --project: docs, shop',
      );
    }
    const removed = await domains('remove', 'blog.shop.test', '--project', 'shop');
    const stderr = 'blog.shop.test was removed from shop. Its traffic has stopped.\n';
    expect(removed).toEqual({ code: 0, stdout: '', stderr });
    const again = await domains('remove', 'blog.shop.test', '--project', 'shop');
    expect(again.stderr).toMatch(/^signpost: project shop does not have blog\.shop\.test\. /);
    expect((await domains('show', 'blog.shop.test')).stdout).toContain('project docs\n');
  });

  it('do not change that a primary domain cannot be removed without confirmation', async () => {
    const settings = { domains: { primary: 'docs.shop.test', redirects: [] } };
    await service.client.call('PUT', `/v1/projects/${docs}/domain-settings`, settings);
    const { code, stderr } = await domains('remove', 'docs.shop.test');
    expect(code).toBe(2);
    expect(stderr).toMatch(/remove it with --orphans drop to .*\(domain_in_use\)\n$/);
    expect((await domains('remove', 'docs.shop.test', '--orphans', 'drop')).code).toBe(0);
  });
});

describe('A failing command prints one line with a remedy', () => {
  it.each([
    [['domains:read'], ['verify', 'blog.shop.test', '--wait'], 'scope domains:write.'],
    [['pets:read'], ['list'], 'scope domains:read.'],
  ])('a key for %j that is used to %j', async (scopes, args, needed) => {
    const key = await keyFor(...scopes);
    const ran = await signpost(['domains', ...args], { ...env, SIGNPOST_API_KEY: key });
    expect([ran.code, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain(needed);
    expect(ran.stderr).toMatch(
      /An administrator can create a key with this scope: signpost keys create\. Set it as SIGNPOST_API_KEY\. \(in\S+\)\n$/,
    );
  });

  it.each([
    [['show', 'no name'], /contains a space\. Use a public host name .*\(invalid_hostname\)$/],
    [['show', '\u001b[31m.test'], /^signpost: \P{Cc}*\(invalid_hostname\)$/u],
    [['list', '--project', 'nowhere'], /project nowhere does not exist. Projects: docs, shop$/],
    [
      ['list', '--status', 'alive'],
      /argument 'alive' is invalid. Use one of pending, verified, live, /,
    ],
    [['verify', 'blog.shop.test', '--timeout', '3s'], /--timeout requires --wait$/],
    [
      ['verify', 'a.test', '--wait', '--timeout', 'long'],
      /--timeout long: use a duration such as 10m/,
    ],
    [
      ['remove', 'a.test', '--orphans', 'keep'],
      /argument 'keep' is invalid. Allowed choices are drop/,
    ],
    [['show'], /missing required argument 'hostname'$/],
    [['verfy', 'a.test'], /unknown command 'verfy' \(Did you mean verify\?\)$/],
  ])('%j', async (args, problem) => {
    const { code, stdout, stderr } = await domains(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(problem);
  });
});
