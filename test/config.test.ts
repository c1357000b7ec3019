import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig, variableNames } from '../src/config.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const databaseUrl = 'postgres://signpost@127.0.0.1/signpost';

describe('the configuration', () => {
  it('works with no variable set', () => {
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

  it('counts a variable that is set but empty as not set', () => {
    const empty = Object.fromEntries(variableNames.map((name) => [name, '']));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });

  it('chooses the storage by two variables', () => {
    const redisUrl = 'redis://127.0.0.1';
    const base = { DATABASE_URL: databaseUrl, KEY_ENCRYPTION_KEY: key };
    expect(loadConfig(base)).toMatchObject({ config: { storage: { kind: 'postgres' } } });
    expect(loadConfig({ ...base, REDIS_URL: redisUrl })).toMatchObject({
      config: { storage: { kind: 'postgres_redis', databaseUrl, redisUrl } },
    });
  });

  it('names every wrong variable at once', () => {
    const result = loadConfig({ PORT: 'http', LOG_LEVEL: 'loud', VERIFY_WINDOW: '2 days' });
    expect(result).toMatchObject({
      ok: false,
      problems: [{ variable: 'PORT' }, { variable: 'VERIFY_WINDOW' }, { variable: 'LOG_LEVEL' }],
    });
  });

  const wrong: readonly (readonly [Record<string, string>, string])[] = [
    [{ PORT: '65536' }, 'PORT'],
    [{ EDGE_HTTPS_PORT: '-1' }, 'EDGE_HTTPS_PORT'],
    [{ DATABASE_URL: 'mysql://x', KEY_ENCRYPTION_KEY: key }, 'DATABASE_URL'],
    [{ DATABASE_URL: databaseUrl }, 'KEY_ENCRYPTION_KEY'],
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
    [{ ACME_CONTACT: 'nobody' }, 'ACME_CONTACT'],
    [{ ESCALATE_AFTER: '0m' }, 'ESCALATE_AFTER'],
  ];
  it.each(wrong)('refuses %o and names the variable', (env, variable) => {
    const result = loadConfig(env);
    expect(result.ok ? [] : result.problems.map((one) => one.variable)).toContain(variable);
  });

  const servers: readonly (readonly [string, string, number])[] = [
    ['192.0.2.1', '192.0.2.1', 53],
    ['192.0.2.1:5353', '192.0.2.1', 5353],
    ['2001:db8::1', '2001:db8::1', 53],
    ['[2001:db8::1]:5353', '2001:db8::1', 5353],
  ];
  it.each(servers)('reads %s as a recursive server', (text, address, port) => {
    expect(loadConfig({ DNS_SERVERS: text })).toMatchObject({
      config: { dns: { servers: [{ address, port }] } },
    });
  });

  it('reads what .env.example lists, and nothing else', () => {
    const example = readFileSync(new URL('../.env.example', import.meta.url), 'utf8');
    const listed = [...example.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...variableNames].sort());
    // The values there are the defaults.
    const values = Object.fromEntries(
      [...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(loadConfig(values)).toEqual(loadConfig({}));
  });
});
