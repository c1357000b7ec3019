import { describe, expect, it } from 'vitest';
import { runCaddy } from '../support/caddy.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { signpost } from './cli.ts';

const print = async (env: Readonly<Record<string, string>>) => signpost(['edge', 'caddyfile'], env);

describe('signpost edge caddyfile', () => {
  it('prints the ports, the edge address and the load balancers from the environment', async () => {
    const { code, stdout, stderr } = await print({
      HOST: '192.0.2.1',
      EDGE_HTTP_PORT: '81',
      EDGE_HTTPS_PORT: '444',
      PUBLIC_HTTPS_PORT: '443',
      EDGE_CADDY_ADDRESS: '[::1]:9999',
      EDGE_CADDY_SECRET: 'not-in-the-file-not-in-the-file-not-in-the-file',
      TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.9',
      EDGE: 'caddy',
    });
    expect([code, stderr]).toEqual([0, '']);
    for (const line of [
      'http_port 81',
      'https_port 444',
      'bind 192.0.2.1',
      'reverse_proxy [::1]:9999 {',
      'get_certificate http http://caddy:{$EDGE_CADDY_SECRET}@[::1]:9999/certificate',
      'trusted_proxies 10.0.0.0/8 192.0.2.9',
      'header_up X-Forwarded-Host {http.request.host}',
      'header Alt-Svc `h3=":443"; ma=2592000`',
    ]) {
      expect(stdout).toContain(`${line}\n`);
    }
    expect(stdout).not.toContain('not-in-the-file');
  });

  it('reports an edge that is not configured for Caddy', async () => {
    const { code, stderr } = await print({ EDGE: 'own' });
    expect([code, stderr]).toEqual([
      0,
      'signpost: EDGE is not set to caddy; set EDGE=caddy to use this configuration\n',
    ]);
  });

  it('omits unset values and binds to all addresses when HOST is not an address', async () => {
    const { stdout } = await print({ HOST: '0.0.0.0' });
    for (const word of ['bind', 'trusted_proxies', 'Alt-Svc']) expect(stdout).not.toContain(word);
  });

  it('names an invalid variable', async () => {
    const { code, stdout, stderr } = await print({ EDGE_CADDY_ADDRESS: 'localhost' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('EDGE_CADDY_ADDRESS must be ip:port, such as 127.0.0.1:9180');
  });

  it.skipIf(lacks('caddy', 'a Caddyfile that Caddy reads'))('is valid for Caddy', async () => {
    const { stdout } = await print({
      EDGE_HTTP_PORT: String(await freePort()),
      EDGE_HTTPS_PORT: String(await freePort()),
      PUBLIC_HTTPS_PORT: '443',
      TRUSTED_PROXIES: '10.0.0.0/8',
    });
    const caddy = await runCaddy(() => stdout, { EDGE_CADDY_SECRET: 'a-secret' });
    await caddy.close();
  });
});
