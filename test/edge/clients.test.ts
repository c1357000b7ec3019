import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lacks } from '../support/programs.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
let folder: string;

beforeAll(async () => {
  edge = await startEdgeFixture();
  deploy = await startDeploy((_request, response) => response.end('hello'));
  await edge.publish(hostname, deploy.url);
  const redirect = { to: hostname, status: 301 };
  await edge.publish('old.acme.test', null, { redirect });
  folder = await mkdtemp(join(tmpdir(), 'signpost-clients-'));
  await writeFile(join(folder, 'root.pem'), edge.root ?? '');
});
afterAll(async () => {
  await edge.close();
  await deploy.close();
  await rm(folder, { recursive: true });
});

/** Runs a program with `input`; returns both outputs and the exit code. */
async function run(program: string, args: readonly string[], input = '') {
  const child = spawn(program, args);
  child.stdin.on('error', () => {}).end(input);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, out, err };
}

const withoutOpenssl = lacks(
  'openssl',
  'TLS versions and cipher suites of the edge, as openssl sees them',
);

describe.skipIf(withoutOpenssl)('openssl', () => {
  const shake = (args: readonly string[], input = '', name = hostname) => {
    const to = ['-connect', `127.0.0.1:${edge.ports.httpsPort}`, '-servername', name];
    const trust = [
      '-CAfile',
      join(folder, 'root.pem'),
      '-verify_return_error',
      '-verify_hostname',
      name,
    ];
    return run('openssl', ['s_client', ...to, ...trust, ...args], input);
  };
  // The client itself would allow all of these.
  const everything = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0';

  it.each([
    ['TLS 1.3', ['-tls1_3'], 'TLSv1.3'],
    ['TLS 1.2', ['-tls1_2'], 'TLSv1.2'],
  ])('connects with %s and trusts the certificate', async (_what, args, version) => {
    const { code, out } = await shake(args);
    expect(code).toBe(0);
    expect(out).toContain(`New, ${version}, Cipher is`);
    expect(out).toContain('Verify return code: 0 (ok)');
  });

  it.each(['-tls1', '-tls1_1'])('is refused with %s', async (version) => {
    const { code, err } = await shake([version, '-cipher', everything]);
    expect(code).toBe(1);
    expect(err).toMatch(/alert protocol version/);
  });

  it.each([
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ])('connects with the suite %s', async (suite) => {
    const { out } = await shake(['-tls1_2', '-cipher', suite]);
    expect(out).toContain(`Cipher is ${suite}`);
  });

  it('is refused with every other TLS 1.2 suite: no forward secrecy, no AEAD or no key', async () => {
    const others = `${everything}:!ECDHE-ECDSA-AES128-GCM-SHA256:!ECDHE-ECDSA-AES256-GCM-SHA384:!ECDHE-ECDSA-CHACHA20-POLY1305`;
    const { code, err } = await shake(['-tls1_2', '-cipher', others]);
    expect(code).toBe(1);
    expect(err).toMatch(/alert handshake failure/);
  });

  it('is refused for an unknown name and receives no certificate', async () => {
    const { code, out, err } = await shake([], '', 'unknown.test');
    expect(code).toBe(1);
    expect(out).toContain('no peer certificate available');
    expect(err).toMatch(/alert/);
  });

  it('cannot renegotiate', async () => {
    const { err, out } = await shake(['-tls1_2'], 'R\n');
    expect(err + out).toMatch(/no renegotiation/);
  });
});

const withoutCurl = lacks('curl', 'a visit to the edge by curl');

describe.skipIf(withoutCurl)('curl', () => {
  const curl = (...args: string[]) => {
    const { httpPort, httpsPort } = edge.ports;
    const names = [hostname, 'old.acme.test'].flatMap((name) =>
      [httpPort, httpsPort].flatMap((port) => ['--resolve', `${name}:${port}:127.0.0.1`]),
    );
    return run('curl', [
      '-sS',
      '--noproxy',
      '*',
      '--cacert',
      join(folder, 'root.pem'),
      ...names,
      ...args,
    ]);
  };

  it('follows a redirecting domain from plain HTTP to the deploy in one step', async () => {
    const format = '%{http_code} %{num_redirects} %{url_effective}';
    const url = `http://old.acme.test:${edge.ports.httpPort}/a?b=c`;
    const { out } = await curl('-L', '-o', join(folder, 'body'), '-w', format, url);
    expect(out).toBe(`200 1 https://${hostname}:${edge.ports.httpsPort}/a?b=c`);
  });

  it('cannot connect with TLS 1.1', async () => {
    const url = `https://${hostname}:${edge.ports.httpsPort}/`;
    expect((await curl('--tlsv1.2', url)).out).toBe('hello');
    const old = await curl('--tls-max', '1.1', '--tlsv1.0', '--ciphers', 'DEFAULT@SECLEVEL=0', url);
    expect([old.code, old.out]).toEqual([35, '']);
  });
});
