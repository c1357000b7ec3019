import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReport } from '../../src/cli/shown.ts';
import { renderJson } from '../../src/net/json.ts';
import { freePort } from '../support/servers.ts';
import { type RunningService, startApi } from '../support/service.ts';
import { signpost } from './cli.ts';
import { finding, report } from './doctor-reports.ts';

describe('signpost doctor without a target', () => {
  let service: RunningService;
  let env: Readonly<Record<string, string>>;

  const post = async (path: string, body: object) => {
    const answer = await service.client.call('POST', path, body);
    return answer.body as { readonly id: string; readonly key: string }; // as in docs/integrate/keys.md
  };

  beforeAll(async () => {
    service = await startApi();
    const { apiKey, apiUrl, publish } = service.world;
    env = { SIGNPOST_API_KEY: apiKey, SIGNPOST_URL: apiUrl };
    await publish(['old CNAME old-host.example.']);
    const { id } = await post('/v1/projects', { name: 'Docs', slug: 'docs', plan: 'pro' });
    await post(`/v1/projects/${id}/deploys`, { status: 'succeeded', upstream: 'http://x.test' });
    await post(`/v1/projects/${id}/domains`, { hostname: 'old.shop.test' });
  });
  afterAll(() => service.close());

  it('queries the service for the target, with a key that may read domains', async () => {
    const { key } = await post('/v1/keys', { name: 'doctor', scopes: ['domains:read'] });
    const asking = { ...env, SIGNPOST_API_KEY: key };
    const { code, stdout, stderr } = await signpost(['doctor', 'OLD.shop.test'], asking);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^✗ old\.shop\.test is not set up correctly\n/);
    expect(stdout).toMatch(
      /\n {2}change {2}CNAME {2}old {3}\w{16}\.edge\.signpost\.test \(now old-host\.example\) {2}3600\n {10}Old value on /,
    );
  });

  it('reports that the service does not know the target of an unknown name', async () => {
    const { code, stdout, stderr } = await signpost(['doctor', 'docs.shop.test'], env);
    expect([code, stdout]).toEqual([2, '']);
    const why = '--target <host> is required: no project has docs.shop.test attached';
    expect(stderr).toBe(`signpost: ${why}\n`);
  });

  it('explains an invalid target in shell terms', async () => {
    const args = ['docs.shop.test', '--target', 'DOCS.shop.test.', '--url'];
    const { code, stderr } = await signpost(['doctor', ...args, env['SIGNPOST_URL'] ?? ''], env);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^signpost: --target: “docs\.shop\.test” is the host name itself, /);
  });

  it('checks the name itself when a target is given', async () => {
    const args = ['docs.shop.test', '--target', 'a.edge.test', '--url', env['SIGNPOST_URL'] ?? ''];
    const { code, stdout } = await signpost(['doctor', ...args, '--json'], env);
    expect(code).toBe(1);
    expect(readReport(stdout)).toMatchObject({ target: 'a.edge.test', verdict: 'wrong' });
  });
});

describe('The response of a service', () => {
  const asked: string[] = [];
  let answer = { status: 200, text: '' };
  let server: Server;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    server = createServer(({ url, headers }, response) => {
      asked.push(`${headers.authorization} ${url}`);
      response.writeHead(answer.status).end(answer.text);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    env = { SIGNPOST_URL: `http://127.0.0.1:${port}/v1`, API_KEY: 'a key of an operator' };
  });
  afterAll(() => void server.close());

  const body = renderJson(report({ findings: [finding({ code: 'of_a_later_version' })] }));

  it('is printed by --json byte for byte', async () => {
    answer = { status: 200, text: body.replace('{', '{ "later": [1.0], ') };
    const ran = await signpost(['doctor', 'a b/c?d', '--json'], env);
    expect(ran).toEqual({ code: 1, stdout: `${answer.text}\n`, stderr: '' });
    expect(asked).toEqual(['Bearer a key of an operator /v1/diagnosis/a%20b%2Fc%3Fd']);
  });

  it('may have unknown findings, which are shown with their texts', async () => {
    answer = { status: 200, text: body };
    const { code, stdout } = await signpost(['doctor', 'docs.shop.test'], env);
    expect(code).toBe(1);
    expect(stdout).toContain(
      '✗ of_a_later_version · blocks · the domain owner needs to act\n  docs.shop.test does not exist',
    );
  });

  it.each([
    [
      200,
      '{"verdict": "right"}',
      'the service sent a response that this version does not understand',
    ],
    [200, '<h1>Hello</h1>', /is not a Signpost service \(status 200\)$/],
    [
      503,
      '{"code": "too_many_diagnoses", "message": "Too many.", "status": 503}',
      'Too many. (too_many_diagnoses)',
    ],
    [
      400,
      '{"code": "invalid_hostname", "message": "It contains a space.", "status": 400}',
      'It contains a space. Use a public host name such as docs.example.com: letters, digits and hyphens, separated by dots. (invalid_hostname)',
    ],
  ])('of %i %s is inconclusive', async (status, text, problem) => {
    answer = { status, text };
    const { code, stdout, stderr } = await signpost(['doctor', 'docs.shop.test'], env);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.replace(/^signpost: (.*)\n$/, '$1')).toMatch(problem);
  });

  it('may be missing, which is inconclusive', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await signpost(['doctor', 'docs.shop.test', '--url', url], env);
    expect(code).toBe(2);
    expect(stderr).toBe(
      `signpost: Signpost is not running at ${url}. Start it with npm start in its folder, or use --url or SIGNPOST_URL for another address\n`,
    );
  });
});
