import { describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { variableNames } from '../src/config/variables.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const databaseUrl = 'postgres://signpost@127.0.0.1/signpost';

describe('The configuration', () => {
  it('works without any variable', () => {
    const result = loadConfig({});
    expect(result).toMatchObject({
      ok: true,
      config: {
        role: 'all',
        http: { host: '127.0.0.1', port: 3000 },
        edge: { httpPort: 8080, httpsPort: 8443 },
        storage: { kind: 'embedded', dataDir: '.data' },
        platform: { domain: 'edge.signpost.test', addresses: [] },
        dns: { servers: [], authoritative: true, authorityPort: 53, allowPrivate: false },
        acme: { directoryUrl: undefined, issuerDomains: ['letsencrypt.org'] },
        verifyWindowMs: 172_800_000,
        escalateAfterMs: 1_800_000,
        logLevel: 'info',
      },
    });
  });

  it('treats an empty variable as not set', () => {
    const empty = Object.fromEntries(variableNames.map((name) => [name, '']));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  it('selects the storage with two variables', () => {
    const redisUrl = 'redis://127.0.0.1';
    const base = {
      DATABASE_URL: databaseUrl,
      KEY_ENCRYPTION_KEY: key,
      ACME_DIRECTORY_URL: 'local',
    };
    expect(loadConfig(base)).toMatchObject({ config: { storage: { kind: 'postgres' } } });
    expect(loadConfig({ ...base, REDIS_URL: redisUrl })).toMatchObject({
      config: { storage: { kind: 'postgres_redis', databaseUrl, redisUrl } },
    });
  });

  it('allows deploys on this machine for embedded storage with a loopback HOST, otherwise only if configured', () => {
    const base = {
      DATABASE_URL: databaseUrl,
      KEY_ENCRYPTION_KEY: key,
      ACME_DIRECTORY_URL: 'local',
    };
    const networks = (env: Record<string, string>) => {
      const result = loadConfig(env);
      return result.ok && result.config.upstreams.networks;
    };
    expect(networks({})).toEqual(['127.0.0.0/8', '::1']);
    for (const HOST of ['localhost', '127.0.0.5', '::1']) {
      expect(networks({ HOST })).toEqual(['127.0.0.0/8', '::1']);
    }
    for (const HOST of ['0.0.0.0', '::', '192.0.2.1', '127.example']) {
      expect(networks({ HOST })).toEqual([]);
    }
    expect(networks(base)).toEqual([]);
    const named = { UPSTREAM_NETWORKS: '10.20.0.0/16, 192.0.2.1' };
    expect(networks({ ...base, ...named })).toEqual(['10.20.0.0/16', '192.0.2.1']);
    expect(networks(named)).toEqual(['10.20.0.0/16', '192.0.2.1']);
  });

  it('names every invalid variable at once', () => {
    const result = loadConfig({ PORT: 'http', LOG_LEVEL: 'loud', VERIFY_WINDOW: '2 days' });
    expect(result).toMatchObject({
      ok: false,
      problems: [{ variable: 'LOG_LEVEL' }, { variable: 'PORT' }, { variable: 'VERIFY_WINDOW' }],
    });
  });

  const wrong: readonly (readonly [Record<string, string>, string])[] = [
    [{ PORT: '65536' }, 'PORT'],
    [{ UPSTREAM_NETWORKS: '10.0.0.0/33' }, 'UPSTREAM_NETWORKS'],
    [{ EDGE_HTTPS_PORT: '-1' }, 'EDGE_HTTPS_PORT'],
    [
      { DATABASE_URL: 'mysql://x', KEY_ENCRYPTION_KEY: key, ACME_DIRECTORY_URL: 'local' },
      'DATABASE_URL',
    ],
    [{ DATABASE_URL: databaseUrl, ACME_DIRECTORY_URL: 'local' }, 'KEY_ENCRYPTION_KEY'],
    [{ DATABASE_URL: databaseUrl, KEY_ENCRYPTION_KEY: key }, 'ACME_DIRECTORY_URL'],
    [{ ACME_DIRECTORY_URL: 'local', ACME_BUDGET: 'letsencrypt' }, 'ACME_BUDGET'],
    [{ REDIS_URL: 'redis://x' }, 'REDIS_URL'],
    [{ KEY_ENCRYPTION_KEY: 'short' }, 'KEY_ENCRYPTION_KEY'],
    [{ ROLE: 'worker' }, 'ROLE'],
    [{ ROLE: 'boss' }, 'ROLE'],
    [{ API_KEY: 'too short' }, 'API_KEY'],
    [{ PLATFORM_DOMAIN: 'Edge_1' }, 'PLATFORM_DOMAIN'],
    [{ PLATFORM_ADDRESSES: '192.0.2.1,example.com' }, 'PLATFORM_ADDRESSES'],
    [{ DNS_SERVERS: 'resolver.example' }, 'DNS_SERVERS'],
    [{ DNS_SERVERS: '192.0.2.1:99999' }, 'DNS_SERVERS'],
    [{ DNS_AUTHORITATIVE: 'yes' }, 'DNS_AUTHORITATIVE'],
    [{ ACME_DIRECTORY_URL: 'http://ca.example/dir' }, 'ACME_DIRECTORY_URL'],
    [{ ACME_CA_FILE: 'ca.pem' }, 'ACME_CA_FILE'],
    [{ CERTIFICATES: 'none' }, 'CERTIFICATES'],
    [{ CERTIFICATES: 'external', ROLE: 'edge' }, 'ROLE'],
    [
      { CERTIFICATES: 'external', ACME_DIRECTORY_URL: 'https://ca.example/dir' },
      'ACME_DIRECTORY_URL',
    ],
    [{ ACME_CONTACT: 'nobody' }, 'ACME_CONTACT'],
    [{ ACME_PROFILE: 'shortlived' }, 'ACME_PROFILE'],
    [{ ACME_CHALLENGE: 'dns-01' }, 'ACME_CHALLENGE'],
    [{ ACME_BUDGET: 'none' }, 'ACME_BUDGET'],
    [{ ACME_DIRECTORY_URL: 'https://ca.example/dir', ACME_BUDGET: 'zerossl' }, 'ACME_BUDGET'],
    [{ EDGE_PROBE: 'no' }, 'EDGE_PROBE'],
    [{ EDGE_CONNECTIONS_PER_ADDRESS: '0' }, 'EDGE_CONNECTIONS_PER_ADDRESS'],
    [{ ACME_EAB_KID: 'kid-1', ACME_EAB_HMAC_KEY: 'c2VjcmV0' }, 'ACME_EAB_KID'],
    [{ ACME_EAB_HMAC_KEY: 'not base64' }, 'ACME_EAB_HMAC_KEY'],
    [{ ESCALATE_AFTER: '0m' }, 'ESCALATE_AFTER'],
    [{ EVENT_RETENTION: '29d' }, 'EVENT_RETENTION'],
    [{ ACME_FALLBACK_DIRECTORY_URL: 'https://b.example/dir' }, 'ACME_FALLBACK_DIRECTORY_URL'],
    [
      {
        ACME_DIRECTORY_URL: 'local',
        ACME_FALLBACK_DIRECTORY_URL: 'https://b.example/dir',
        ACME_FALLBACK_ISSUER_DOMAINS: 'b.example',
      },
      'ACME_FALLBACK_DIRECTORY_URL',
    ],
    [{ ACME_FALLBACK_ISSUER_DOMAINS: 'b.example' }, 'ACME_FALLBACK_ISSUER_DOMAINS'],
    [{ ACME_FALLBACK_PROFILE: 'shortlived' }, 'ACME_FALLBACK_PROFILE'],
    [{ ACME_FALLBACK_CA_FILE: 'b.pem' }, 'ACME_FALLBACK_CA_FILE'],
  ];
  it.each(wrong)('rejects %o and names the variable', (env, variable) => {
    const result = loadConfig(env);
    expect(result.ok ? [] : result.problems.map((one) => one.variable)).toContain(variable);
  });

  describe('KEY_ENCRYPTION_KEY', () => {
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const keysIn = (text: string) => {
      const result = loadConfig({ KEY_ENCRYPTION_KEY: text });
      return result.ok ? result.config.keyEncryptionKeys : result.problems;
    };

    it.each([
      ['one key', one.toString('base64'), [one]],
      ['one key in hex, the original format', one.toString('hex'), [one]],
      ['one key without its =', one.toString('base64').slice(0, -1), [one]],
      ['two keys in order', `${two.toString('base64')},${one.toString('hex')}`, [two, one]],
      ['two keys with a space', `${two.toString('base64')}, ${one.toString('base64')}`, [two, one]],
    ])('accepts %s', (_what, text, keys) => {
      expect(keysIn(text)).toEqual(keys);
    });

    const shape = 'must be 32 bytes in base64 or hex (openssl rand -base64 32)';
    it.each([
      ['a short key', 'c2hvcnQ=', shape],
      ['a short second key', `${key},c2hvcnQ=`, `${shape}, as number 2 of 2 is not`],
      ['a trailing comma', `${key},`, `${shape}, as number 2 of 2 is not`],
      ['two keys without a comma', `${key} ${one.toString('base64')}`, shape],
      [
        'the same key twice in different encodings',
        `${one.toString('base64')},${one.toString('hex')}`,
        'contains a key twice: number 2 repeats an earlier one',
      ],
    ])('rejects %s without printing a key', (_what, text, problem) => {
      expect(keysIn(text)).toEqual([{ variable: 'KEY_ENCRYPTION_KEY', problem }]);
    });
  });

  const directory = { ACME_DIRECTORY_URL: 'https://ca.example/dir' };
  it.each([
    [{ ACME_EAB_KID: 'kid-1' }, 'ACME_EAB_HMAC_KEY'],
    [{ ACME_EAB_HMAC_KEY: 'c2VjcmV0' }, 'ACME_EAB_KID'],
  ])('requires both parts of an external account and rejects %o alone', (half, missing) => {
    const problem = 'is missing: ACME_EAB_KID and ACME_EAB_HMAC_KEY are set together, or neither';
    const problems = [{ variable: missing, problem }];
    expect(loadConfig({ ...directory, ...half })).toEqual({ ok: false, problems });
  });

  it('reads the HMAC key of an external account from base64url', () => {
    const given = { ...directory, ACME_EAB_KID: 'kid-1', ACME_EAB_HMAC_KEY: '_-8=' };
    const externalAccount = { kid: 'kid-1', hmacKey: new Uint8Array([255, 239]) };
    expect(loadConfig(given)).toMatchObject({ config: { acme: { externalAccount } } });
  });

  const second = {
    ...directory,
    ACME_FALLBACK_DIRECTORY_URL: 'https://b.example/dir',
    ACME_FALLBACK_ISSUER_DOMAINS: 'b.example,c.example',
  };
  it('reads a second CA beside the first', () => {
    const given = { ...second, ACME_FALLBACK_EAB_KID: 'k', ACME_FALLBACK_EAB_HMAC_KEY: '_-8' };
    expect(loadConfig(given)).toMatchObject({
      config: {
        acme: {
          directoryUrl: 'https://ca.example/dir',
          externalAccount: undefined,
          fallback: {
            directoryUrl: 'https://b.example/dir',
            issuerDomains: ['b.example', 'c.example'],
            externalAccount: { kid: 'k', hmacKey: new Uint8Array([255, 239]) },
          },
        },
      },
    });
    expect(loadConfig(directory)).toMatchObject({ config: { acme: { fallback: undefined } } });
  });

  it.each([
    ['the same directory', { ACME_DIRECTORY_URL: 'https://B.example:443/dir' }, 'DIRECTORY_URL'],
    ['no issuer domains', { ACME_FALLBACK_ISSUER_DOMAINS: '' }, 'ISSUER_DOMAINS'],
    ['only the id of an external account', { ACME_FALLBACK_EAB_KID: 'k' }, 'EAB_HMAC_KEY'],
    ['only the key of an external account', { ACME_FALLBACK_EAB_HMAC_KEY: '_-8' }, 'EAB_KID'],
  ])('rejects a second CA with %s', (_what, given, name) => {
    const result = loadConfig({ ...second, ...given });
    const variables = result.ok ? [] : result.problems.map(({ variable }) => variable);
    expect(variables).toEqual([`ACME_FALLBACK_${name}`]);
  });

  it('trusts a root file for the certificates of another edge', () => {
    expect(loadConfig({ CERTIFICATES: 'external', ACME_CA_FILE: 'roots.pem' })).toMatchObject({
      config: {
        certificates: { source: 'external' },
        edge: { publicHttpsPort: undefined },
        acme: { caFile: 'roots.pem', directoryUrl: undefined },
      },
    });
  });

  const servers: readonly (readonly [string, string, number])[] = [
    ['192.0.2.1', '192.0.2.1', 53],
    ['192.0.2.1:5353', '192.0.2.1', 5353],
    ['2001:db8::1', '2001:db8::1', 53],
    ['[2001:db8::1]:5353', '2001:db8::1', 5353],
  ];
  it.each(servers)('accepts %s as a recursive server', (text, address, port) => {
    expect(loadConfig({ DNS_SERVERS: text })).toMatchObject({
      config: { dns: { servers: [{ address, port }] } },
    });
  });

  it('changes only the window with VERIFY_WINDOW, and only waits with TIME_SCALE', () => {
    const usual = loadConfig({});
    if (!usual.ok) throw new Error(JSON.stringify(usual.problems));
    const { config } = usual;
    expect(loadConfig({ VERIFY_WINDOW: '24h' })).toEqual({
      ok: true,
      config: {
        ...config,
        verifyWindowMs: 24 * 3_600_000,
        shared: { ...config.shared, VERIFY_WINDOW: '24h' },
      },
    });
    expect(loadConfig({ TIME_SCALE: '288' })).toEqual({
      ok: true,
      config: { ...config, timeScale: 288, shared: { ...config.shared, TIME_SCALE: '288' } },
    });
  });
});
