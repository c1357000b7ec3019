import { describe, expect, it } from 'vitest';
import { checkUpstream, type UpstreamCheckDeps } from '../../src/net/upstream-check.ts';

/** `10.1.x.x` is one of UPSTREAM_NETWORKS, with the database; port 3000 of this machine is the API's. */
const withLookup = (lookup: UpstreamCheckDeps['lookup']) => ({
  lookup,
  isNamed: (address: string) => address.startsWith('10.1.'),
  ownAddresses: async () => ['9.9.9.9'],
  ownListeners: async () => [
    { addresses: ['127.0.0.1'], ports: new Set([3000]), edgePorts: new Set<number>() },
    { addresses: ['10.1.0.9'], ports: new Set([5432]), edgePorts: new Set<number>() },
  ],
});
const unused = withLookup(() => Promise.reject(new Error('unexpected lookup')));
const resolvesTo = (...addresses: readonly string[]) =>
  withLookup(async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );

describe('A literal address', () => {
  it.each(['http://1.1.1.1:8080/', 'http://[2606:4700::1111]/', 'http://10.1.2.3/'])(
    '%s is accepted without a query',
    async (upstream) => {
      expect(await checkUpstream(unused, upstream)).toEqual({ kind: 'accepted', warnings: [] });
    },
  );

  it.each([
    ['http://10.0.0.5/', '10.0.0.5'],
    ['https://9.9.9.9/', '9.9.9.9'],
    ['http://127.0.0.1:3001/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://169.254.169.254/latest', '169.254.169.254'],
    ['http://[::1]/', '::1'],
    ['http://[fd00::1]/', 'fd00::1'],
    ['http://[::ffff:10.0.0.1]/', '::ffff:a00:1'],
  ])('%s is refused', async (upstream, address) => {
    expect(await checkUpstream(unused, upstream)).toEqual({
      kind: 'refused',
      problem: `is at ${address}, which is not public or belongs to the platform. Visitors would get an error page. The operator can allow it with UPSTREAM_NETWORKS.`,
    });
  });
});

describe('A port of Signpost or its storage', () => {
  it.each([
    ['http://127.0.0.1:3000/', 'is at 127.0.0.1 port 3000'],
    ['http://[::ffff:127.0.0.1]:3000/', 'is at ::ffff:7f00:1 port 3000'],
    ['http://app.localhost:3000/', 'resolves to 127.0.0.1 port 3000'],
    ['http://10.1.0.9:5432/', 'is at 10.1.0.9 port 5432'],
  ])('is refused, although its network is allowed: %s', async (upstream, words) => {
    expect(await checkUpstream(unused, upstream)).toEqual({
      kind: 'refused',
      problem: `${words}, where Signpost itself or its storage listens. Report the address and port of the deploy.`,
    });
  });

  it('is refused for a name if any of its addresses leads there', async () => {
    const deps = resolvesTo('1.1.1.1', '10.1.0.9');
    expect(await checkUpstream(deps, 'http://app.example:5432/')).toMatchObject({
      kind: 'refused',
    });
    expect(await checkUpstream(deps, 'http://app.example:5433/')).toEqual({
      kind: 'accepted',
      warnings: [],
    });
  });
});

describe('A name', () => {
  const warningsOf = async (deps: UpstreamCheckDeps, upstream = 'https://app.example/') => {
    const checked = await checkUpstream(deps, upstream);
    return checked.kind === 'accepted' ? checked.warnings : checked;
  };

  it('with public or allowed addresses has no warning', async () => {
    expect(await warningsOf(resolvesTo('1.1.1.1', '2606:4700::1111', '10.1.0.1'))).toEqual([]);
  });

  it.each([
    ['private_address', 'resolves to 10.0.0.5', resolvesTo('1.1.1.1', '10.0.0.5')],
    ['private_address', 'resolves to 9.9.9.9', resolvesTo('9.9.9.9')],
    ['no_address', 'has no address', resolvesTo()],
    ['lookup_failed', 'could not be resolved', unused],
    ['lookup_failed', 'could not be resolved', withLookup(() => new Promise(() => {}))],
  ] as const)('gets the warning %s: %s', async (code, words, deps) => {
    expect(await warningsOf(deps)).toEqual([{ code, message: expect.stringContaining(words) }]);
  });

  it('of this machine is never sent to a server', async () => {
    const warnings = await warningsOf(unused, 'http://app.localhost:3001/');
    expect(warnings).toMatchObject([{ code: 'private_address' }]);
  });
});
