import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { signpost } from './cli.ts';

const page = readFileSync(new URL('../../docs/run/platform-zone.md', import.meta.url), 'utf8');

const settings = {
  PLATFORM_DOMAIN: 'edge.example.net',
  PLATFORM_ADDRESSES: '203.0.113.10, 2001:db8::10',
};

async function zone(args: readonly string[], env: Readonly<Record<string, string>> = settings) {
  const { code, stdout, stderr } = await signpost(['zone', ...args], env);
  return { code, out: stdout, err: stderr };
}

/** The commands of the page with their variables and output. */
const shown = [
  ...page.matchAll(
    /^\$ ((?:[A-Z_]+=\S+ (?:\\\n {4})?)*)node bin\/signpost\.mjs zone(.*)\n([^`$]+)/gm,
  ),
];

describe('signpost zone', () => {
  it('prints what its documentation page shows', async () => {
    expect(shown.length).toBe(2);
    for (const [, variables = '', args = '', printed] of shown) {
      const env = Object.fromEntries(
        [...variables.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
      );
      const { code, out } = await zone(args.split(' ').filter(Boolean), env);
      expect([code, out.trimEnd()]).toEqual([0, printed?.trimEnd()]);
    }
  });

  it('describes itself without a query', async () => {
    for (const word of ['--help', '-h']) {
      const { code, out, err } = await zone([word], {});
      expect([code, err]).toEqual([0, '']);
      expect(out).toMatch(/^Usage: signpost zone /);
      for (const option of out.match(/--\w+/g) ?? []) expect(page).toContain(`\`${option}`);
    }
  });

  it('separates warnings from the records to publish', async () => {
    const { out, err } = await zone([], { ...settings, PLATFORM_ADDRESSES: '10.0.0.5' });
    expect(out).toContain('  IN  A     10.0.0.5\n');
    expect(err).toBe(
      'signpost: 10.0.0.5 is not a public address (private): visitors and certificate authorities cannot reach it.\n',
    );
  });

  it('prints all of it as JSON', async () => {
    const { out, err } = await zone(['--json', '--ttl', '60'], {
      ...settings,
      PLATFORM_ADDRESSES: '1.1.1.1',
      ACME_ISSUER_DOMAINS: 'ca.example',
    });
    const name = '*.edge.example.net.';
    expect(JSON.parse(out)).toEqual({
      platformDomain: 'edge.example.net',
      records: [
        { name, ttl: 60, type: 'A', data: '1.1.1.1' },
        { name, ttl: 60, type: 'CAA', data: '0 issue "ca.example"' },
        { name, ttl: 60, type: 'CAA', data: '0 issuewild ";"' },
      ],
      doubts: [],
    });
    expect(err).toBe('');
  });

  it('lets the second CA issue, too, with its own account', async () => {
    const account = 'https://ca.example/acct/1';
    const { out } = await zone(['--accounturi', account], {
      ...settings,
      ACME_DIRECTORY_URL: 'https://ca.example/dir',
      ACME_ISSUER_DOMAINS: 'ca.example',
      ACME_FALLBACK_DIRECTORY_URL: 'https://second.example/dir',
      ACME_FALLBACK_ISSUER_DOMAINS: 'second.example',
    });
    expect(out).toContain(`  IN  CAA   0 issue "ca.example; accounturi=${account}"\n`);
    expect(out).toContain('  IN  CAA   0 issue "second.example"\n');
  });

  it('ignores unrelated environment variables', async () => {
    const { code } = await zone([], { ...settings, PORT: 'none', REDIS_URL: 'redis://r' });
    expect(code).toBe(0);
  });

  const domainNeeded =
    'PLATFORM_DOMAIN is required: the domain below which customers’ records point, such as edge.example.net';
  const addressesNeeded =
    'PLATFORM_ADDRESSES is required: the edge’s public addresses, comma-separated';
  type Row = readonly [args: string, env: Record<string, string>, problem: string];
  const wrong: readonly Row[] = [
    ['', { PLATFORM_DOMAIN: '' }, domainNeeded],
    ['', { PLATFORM_ADDRESSES: '' }, addressesNeeded],
    ['', { PLATFORM_DOMAIN: '', PLATFORM_ADDRESSES: '' }, `${domainNeeded}; ${addressesNeeded}`],
    [
      '',
      { PLATFORM_DOMAIN: 'Edge.' },
      'PLATFORM_DOMAIN must be a host name in lower case, without a trailing dot',
    ],
    [
      '',
      { PLATFORM_DOMAIN: Array(4).fill('a'.repeat(59)).join('.') },
      'PLATFORM_DOMAIN must have at most 236 characters, because a target has 17 more',
    ],
    [
      '',
      { PLATFORM_ADDRESSES: '203.0.113.10 2001:db8::10' },
      'PLATFORM_ADDRESSES must be IP addresses, comma-separated',
    ],
    [
      '',
      { ACME_ISSUER_DOMAINS: 'https://ca.example' },
      'ACME_ISSUER_DOMAINS must be a host name in lower case, without a trailing dot',
    ],
    [
      '',
      { ACME_DIRECTORY_URL: 'https://acme.ca.example/directory' },
      'ACME_ISSUER_DOMAINS is required: the CAA identity of the certificate authority of ACME_DIRECTORY_URL',
    ],
    ['--ttl 5m', {}, '--ttl 5m: must be a number of seconds from 1 to 86400'],
    ['--ttl 0', {}, '--ttl 0: must be a number of seconds from 1 to 86400'],
    ['--ttl 86401', {}, '--ttl 86401: must be a number of seconds from 1 to 86400'],
    [
      '--accounturi https://ca.example/1;x',
      {},
      '--accounturi https://ca.example/1;x: must be the exact URL of the account, such as https://acme-v02.api.letsencrypt.org/acme/acct/123',
    ],
    [
      '--validationmethods dns-01',
      {},
      '--validationmethods dns-01: must be http-01 (ACME_CHALLENGE) or http-01,tls-alpn-01',
    ],
    [
      '--validationmethods http-01',
      { ACME_CHALLENGE: 'tls-alpn-01' },
      '--validationmethods http-01: must be tls-alpn-01 (ACME_CHALLENGE) or http-01,tls-alpn-01',
    ],
    ['--color', {}, "unknown option '--color'"],
  ];
  it.each(wrong)('%s with %j says what is missing or wrong', async (args, env, problem) => {
    const { code, out, err } = await zone(args.split(' ').filter(Boolean), {
      ...settings,
      ...env,
    });
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/^Usage: signpost zone /);
    expect(err.endsWith(`\nsignpost: ${problem}\n`)).toBe(true);
  });

  it('assumes the identity of Let’s Encrypt only if it is the CA', async () => {
    const ACME_DIRECTORY_URL = 'https://acme-v02.api.letsencrypt.org/directory';
    for (const env of [settings, { ...settings, ACME_DIRECTORY_URL }]) {
      expect((await zone([], env)).out).toContain('0 issue "letsencrypt.org"');
    }
  });
});
