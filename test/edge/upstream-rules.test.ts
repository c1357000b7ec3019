/** A deploy's URL is its tenant's to choose: which addresses and ports it may have, and which are nobody's to publish. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { ownPorts } from '../../src/net/own-ports.ts';
import { API_PORT, allowedBy, ours, reachOf } from './support/reach.ts';

describe('Where a deploy may be', () => {
  it.each([
    ['a public address', '8.8.8.8', true],
    ['a public IPv6 address', '2606:4700::1', true],
    ['this machine', '127.0.0.1', false],
    ['this machine, by IPv6', '::1', false],
    ['this machine, in disguise', '::ffff:7f00:1', false],
    ['a private network', '10.20.0.5', false],
    ['another private network', 'fd00::5', false],
    ['a cloud’s metadata', '169.254.169.254', false],
    ['a cloud’s metadata, by IPv6', 'fd00:ec2::254', false],
    ['a provider’s own network', '100.64.0.1', false],
    ['Azure’s virtual address', '168.63.129.16', false],
    ['no address at all', '0.0.0.0', false],
    ['an address of the platform', ours, false],
    ['an IPv6 address of the platform', '2600:1234::1', false],
  ])('%s: %s is %s', async (_what, address, allowed) => {
    expect((await allowedBy())(address)).toBe(allowed);
  });

  it('is also what the operator names, and no more than that', async () => {
    const isAllowed = await allowedBy('10.20.0.0/16', '127.0.0.1', 'fd12::/16');
    const asked = [
      '10.20.0.5',
      '127.0.0.1',
      'fd12::5',
      '10.21.0.5',
      '127.0.0.2',
      '169.254.169.254',
    ];
    expect(asked.map(isAllowed)).toEqual([true, true, true, false, false, false]);
  });
});

describe('The platform’s own ports', () => {
  const everything = ['0.0.0.0/0', '::/0'];

  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '::1',
    '::',
    '::ffff:7f00:1',
    ours,
    `::ffff:${ours}`,
    '2600:1234::1',
  ])('are no deploy’s at %s, whatever the operator names', async (address) => {
    const problemAt = await reachOf(...everything).decide();
    expect(problemAt(address, API_PORT)).toMatch(/, port 3000, where the platform itself answers$/);
    expect(problemAt(address, 8000)).toBeNull();
  });

  it('may be a deploy’s on other machines', async () => {
    const problemAt = await reachOf('10.20.0.0/16').decide();
    expect(problemAt('10.20.0.5', API_PORT)).toBeNull();
    expect(problemAt('8.8.8.8', API_PORT)).toBeNull();
  });

  it.each([
    ['as they are by default', {}, [3000, 8080, 8443]],
    [
      'as they are set',
      { PORT: '4001', METRICS_PORT: '4002', EDGE_HTTP_PORT: '4003', EDGE_HTTPS_PORT: '4004' },
      [4001, 4002, 4003, 4004],
    ],
    [
      'those of Caddy, and where it asks us',
      { EDGE: 'caddy', EDGE_CADDY_SECRET: 'x'.repeat(32), PUBLIC_HTTPS_PORT: '4443' },
      [3000, 4443, 8080, 8443, 9180],
    ],
    [
      'those of the storage',
      { DATABASE_URL: 'postgres://db.test:7432/x', REDIS_URL: 'rediss://cache.test:7379' },
      [3000, 7379, 7432, 8080, 8443],
    ],
    [
      'those of the storage where its URL has none',
      { DATABASE_URL: 'postgres://db.test/x', REDIS_URL: 'redis://cache.test' },
      [3000, 5432, 6379, 8080, 8443],
    ],
    [
      'that of a database by libpq’s parameters',
      { DATABASE_URL: 'postgres:///x?host=db.test&port=7432' },
      [3000, 7432, 8080, 8443],
    ],
    ['none that the system is to choose', { PORT: '0', METRICS_PORT: '0' }, [8080, 8443]],
  ])('are %s', (_what, env, ports) => {
    const read = loadConfig({ KEY_ENCRYPTION_KEY: 'A'.repeat(43).concat('='), ...env });
    if (!read.ok) throw new Error('the settings do not fit');
    expect([...ownPorts(read.config)].sort((a, b) => a - b)).toEqual(ports);
  });
});

describe('A cloud’s metadata', () => {
  const places = ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16'];

  it('is no deploy, although it lies in a network of deploys', async () => {
    const isAllowed = await allowedBy('169.254.0.0/16', 'fd00::/8', '100.64.0.0/10', '0.0.0.0/0');
    expect(places.map(isAllowed)).toEqual([false, false, false, false]);
  });

  it('is what the operator names alone', async () => {
    expect((await allowedBy('169.254.169.254'))('169.254.169.254')).toBe(true);
    expect((await allowedBy('fd00:ec2::254/128'))('fd00:ec2::254')).toBe(true);
  });
});

describe('A deploy as it is reported', () => {
  const problemOf = (url: string, ...networks: string[]) =>
    reachOf(...networks).urlProblem(new URL(url));

  it.each([
    'https://deploy.example.com',
    'http://deploy.example.com:8080/app',
    'https://8.8.8.8',
    'https://[2606:4700::1]:8443',
  ])('may be at %s', (url) => {
    expect(problemOf(url)).toBeNull();
  });

  it.each([
    ['http://127.0.0.1:8000', 'must not lead to 127.0.0.1, which is not public'],
    ['http://2130706433:8000', 'must not lead to 127.0.0.1, which is not public'],
    ['http://localhost:8000', 'must not lead to 127.0.0.1, which is not public'],
    ['http://shop.localhost:8000', 'must not lead to 127.0.0.1, which is not public'],
    ['http://[::1]:8000', 'must not lead to ::1, which is not public'],
    ['http://10.20.0.5', 'must not lead to 10.20.0.5, which is not public'],
    ['http://169.254.169.254/latest', 'must not lead to 169.254.169.254, a cloud’s metadata'],
    ['http://deploy.example.com:22', 'must have the port 80 or 443, or one from 1024 on'],
    ['http://deploy.example.com:6379', 'must not have the port 6379, which is known as Redis’s'],
    ['http://8.8.8.8:2375', 'must not have the port 2375, which is known as Docker’s'],
  ])('must not be at %s', (url, words) => {
    expect(problemOf(url)).toContain(words);
  });

  it('may be on this machine where the operator says so, but for our own ports', () => {
    expect(problemOf('http://127.0.0.1:8000', '127.0.0.0/8')).toBeNull();
    expect(problemOf('http://localhost:8000', '127.0.0.0/8')).toBeNull();
    expect(problemOf(`http://127.0.0.1:${API_PORT}`, '127.0.0.0/8')).toContain('platform itself');
    expect(problemOf(`http://localhost:${API_PORT}`, '127.0.0.0/8')).toContain('platform itself');
  });
});
