/** `signpost doctor` against name servers on loopback. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readReport } from '../../src/cli/shown.ts';
import { type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';
import { program, signpost, spawnSignpost } from './cli.ts';

/* Loopback name servers for `signpost doctor`, and the environment that uses them. */

const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';

type DoctorTestLab = {
  readonly dns: LabDnsServer;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
};

const inCommon = [
  '@ NS ns1',
  '@ NS ns2',
  'ns1 A 127.0.0.1',
  'ns2 A 127.0.0.9',
  '@ CAA 0 issue "letsencrypt.org"',
];

/** Both servers of shop.test have the record for `docs`; for `blog` the second is outdated. */
async function startDoctorTestLab(): Promise<DoctorTestLab> {
  const zoneWith = (...lines: readonly string[]) => ({ 'shop.test': [...inCommon, ...lines] });
  const right = [
    `docs CNAME ${target}.`,
    `xn--bcher-kva CNAME ${target}.`,
    'old CNAME old-host.example.',
  ];
  const dns = await startDnsServer({
    zones: {
      ...zoneWith(...right, `blog CNAME ${target}.`),
      'signpost.test': ['*.edge A 127.0.0.1'],
      'account.test': [
        `docs CNAME ${target}.`,
        '@ CAA 0 issue "letsencrypt.org; accounturi=https://ca.example/acct/1"',
      ],
      'evil.test': [
        'docs CNAME \u001b[2J\u0007.example.',
        'docs2 TXT "\u001b[31m\nred"',
        '@ CAA 0 issue "\u001b[2J"',
      ],
    },
  });
  const second = await startDnsServer({
    zones: zoneWith(...right, 'blog A 192.0.2.7'),
    address: '127.0.0.9',
    port: dns.port,
  });
  return {
    dns,
    env: {
      DNS_SERVERS: `${dns.address}:${dns.port}`,
      DNS_AUTHORITY_PORT: String(dns.port),
      DNS_ALLOW_PRIVATE: 'true',
    },
    async close() {
      await second.close();
      await dns.close();
    },
  };
}

let testLab: DoctorTestLab;
beforeAll(async () => {
  testLab = await startDoctorTestLab();
});
afterEach(() => testLab.dns.heal());
afterAll(() => testLab.close());

const doctor = (hostname: string, args: readonly string[] = [], env = {}) =>
  signpost(['doctor', hostname, '--target', target, ...args], { ...testLab.env, ...env });

describe('signpost doctor with a target', () => {
  it('exits with 0 and an empty standard error for a correct domain', async () => {
    const { code, stdout, stderr } = await doctor('docs.shop.test');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^✓ docs\.shop\.test is set up correctly\n/);
    expect(stdout).toMatch(/\n {4}ns2\.shop\.test {2}127\.0\.0\.9 {2}answers {2}AA {2}NOERROR /);
  });

  it('exits with 1 for a wrong domain and shows its state and the fix', async () => {
    const { code, stdout, stderr } = await doctor('old.shop.test');
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^✗ old\.shop\.test is not set up correctly\n/);
    expect(stdout).toContain('✗ cname_mismatch · blocks · the domain owner needs to act\n');
    expect(stdout).toContain('  ✗ CNAME old-host.example, TTL 1 min\n');
    expect(stdout).toContain(`  change  CNAME  old   ${target} (now old-host.example)  3600\n`);
  });

  it('exits with 2 when every server is silent', async () => {
    testLab.dns.fail('.shop.test', '*', 'timeout');
    const { code, stdout, stderr } = await doctor('docs.shop.test');
    expect([code, stderr]).toEqual([2, '']);
    expect(stdout).toMatch(/^\? docs\.shop\.test could not be checked\n/);
    expect(stdout).toContain('  ? no answer in time\n');
  });

  it('uses resolvers only when authoritative queries are disabled', async () => {
    const { code, stdout } = await doctor('docs.shop.test', [], { DNS_AUTHORITATIVE: 'false' });
    expect(stdout).toContain('because DNS_AUTHORITATIVE is false.\n');
    expect(stdout).toContain('\nResolvers\n');
    expect(code).toBe(0);
  });

  it('accepts a name in any spelling', async () => {
    const { stdout } = await doctor('https://Bücher.SHOP.test:443/a?b');
    expect(stdout).toMatch(
      /^✓ xn--bcher-kva\.shop\.test \(bücher\.shop\.test\) is set up correctly\n/,
    );
  });

  it('notes that only the service can check a CAA record for one account', async () => {
    const { stdout } = await doctor('docs.account.test');
    expect(stdout).toContain('! caa_warns · warns · the domain owner needs to act\n');
    expect(stdout).toMatch(/\n {2}note {6}This machine cannot verify that CA account/);
  });

  it('prints only the API response with --json', async () => {
    const { code, stdout, stderr } = await doctor('old.shop.test', ['--json']);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^\{.*\}\n$/);
    expect(readReport(stdout)).toMatchObject({ hostname: 'old.shop.test', target });
  });

  it('ignores unrelated environment variables', async () => {
    const env = { DATABASE_URL: 'nonsense', REDIS_URL: 'nonsense', PORT: '-1' };
    expect((await doctor('docs.shop.test', [], env)).code).toBe(0);
  });

  it.each(['docs.evil.test', 'docs2.evil.test'])(
    'does not let a zone control the terminal: %s',
    async (hostname) => {
      const { code, stdout } = await doctor(hostname);
      expect(code).toBe(1);
      expect(stdout).toContain('0 issue "\\027[2J"');
      expect(stdout).not.toMatch(/[^\n\P{C}]/u);
    },
  );
});

describe('Wrong usage of signpost doctor', () => {
  const to = ['--target', target];
  const misunderstood: readonly (readonly [args: readonly string[], problem: string])[] = [
    [[], "missing required argument 'hostname'"],
    [
      ['a.test', 'b.test', ...to],
      "too many arguments for 'doctor'. Expected 1 argument but got 2.",
    ],
    [['docs.shop.test', ...to, '--color'], "unknown option '--color'"],
    [
      ['docs.shop.test'],
      'to check from this machine, pass --target <host>; to check through the service, set SIGNPOST_API_KEY (or API_KEY)',
    ],
    ...[
      ['foo bar', 'The label “foo bar” contains a space.'],
      ['', 'The host name is empty.'],
      ['a_b.shop.test', 'The label “a_b” contains an underscore.'],
    ].map(([hostname = '', problem]): [string[], string] => [
      [hostname, ...to],
      `${problem} Use a public host name such as docs.example.com: letters, digits and hyphens, separated by dots.`,
    ]),
    [['co.uk', ...to], '“co.uk” is a public suffix: names are registered below it.'],
    [['*.shop.test', ...to], 'Wildcards can’t be checked. Enter one host name without “*”.'],
    [
      ['docs.shop.test', '--url', 'http://127.0.0.1:1'],
      '--url checks through the service, which requires SIGNPOST_API_KEY (or API_KEY); to check from this machine, use --target <host> without --url',
    ],
    [
      ['docs.shop.test', '--target', 'https://DOCS.shop.test/'],
      '--target: “docs.shop.test” is the host name itself, which cannot point to itself. Enter the name that it must point to.',
    ],
    [
      ['docs.shop.test', '--target', 'co.uk'],
      '--target: “co.uk” is a public suffix and cannot be a target. Enter a name below it.',
    ],
    [['docs.shop.test', '--target', ''], '--target: The host name is empty.'],
    [
      ['docs.shop.test', '--target', '192.0.2.1'],
      '--target: “192.0.2.1” is an IP address or a number. Enter a host name.',
    ],
  ];
  it.each(misunderstood)('%j: %s', async (args, problem) => {
    const { code, stdout, stderr } = await signpost(['doctor', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^Usage: signpost doctor \[options\] <hostname>/);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`signpost: ${problem}`);
  });

  it('names an invalid environment variable', async () => {
    const { code, stderr } = await doctor('docs.shop.test', [], { DNS_SERVERS: 'localhost' });
    expect(code).toBe(2);
    expect(stderr).toContain('signpost: DNS_SERVERS must be ip or ip:port, comma-separated\n');
  });

  it.each([['--help'], ['docs.shop.test', '-h']])('%s prints the usage', async (...args) => {
    const { code, stdout, stderr } = await signpost(['doctor', ...args]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: signpost doctor \[options\] <hostname>/);
  });
});

describe('signpost doctor with a second CA', () => {
  const diagnoseFor = (first: string, second: string) =>
    doctor('docs.shop.test', [], {
      ACME_DIRECTORY_URL: 'https://first.example/dir',
      ACME_ISSUER_DOMAINS: first,
      ACME_FALLBACK_DIRECTORY_URL: 'https://second.example/dir',
      ACME_FALLBACK_ISSUER_DOMAINS: second,
    });

  it('accepts a CAA set that allows only the second CA', async () => {
    expect((await diagnoseFor('first.example', 'letsencrypt.org')).code).toBe(0);
  });

  it('names the records of both CAs when CAA forbids both', async () => {
    const { code, stdout } = await diagnoseFor('first.example', 'second.example');
    expect(code).toBe(1);
    expect(stdout).toContain('0 issue "first.example"');
    expect(stdout).toContain('0 issue "second.example"');
  });
});

it('signpost doctor in a shell prints the same and exits with its code', async () => {
  const args = ['doctor', 'old.shop.test', '--target', target];
  const { code, stdout, stderr } = await spawnSignpost(args, testLab.env);
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout).toMatch(/^✗ old\.shop\.test is not set up correctly\n/);
  expect(stdout).toMatch(/\d+ queries, .*\n$/);
});

describe('A fault of signpost doctor exits with 2', () => {
  it('with one line for an unreadable .env', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signpost-doctor-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, '.env'));
    const args = ['doctor', 'docs.shop.test', '--target', target];
    const { code, stdout, stderr } = await spawnSignpost(args, testLab.env, folder);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^signpost: [^\n]+\n$/);
  });

  it.runIf(existsSync('/dev/full'))('with one line for a full disk', async () => {
    const { code, stderr } = await doctorInto('/dev/full', 'docs.shop.test');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^signpost: [^\n]*ENOSPC[^\n]*\n$/);
  });

  it('silently for a closed pipe', async () => {
    expect(await doctorInto(null, 'docs.shop.test')).toEqual({ code: 2, stderr: '' });
  });
});

/** Its output goes to a file, or (null) to a closed pipe. */
async function doctorInto(file: string | null, hostname: string) {
  const out = file === null ? 'pipe' : openSync(file, 'w');
  const child = spawn(process.execPath, [program, 'doctor', hostname, '--target', target], {
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'], ...testLab.env },
    stdio: ['ignore', out, 'pipe'],
  });
  child.stdout?.destroy();
  let stderr = '';
  child.stderr?.on('data', (text) => {
    stderr += String(text);
  });
  const [code] = await once(child, 'close');
  if (typeof out === 'number') closeSync(out);
  return { code, stderr };
}

/** `DOCTOR_PAGES=write npx vitest run test/cli/doctor.test.ts` updates the page. */
const isToBeWritten = process.env['DOCTOR_PAGES'] === 'write';

describe('docs/understand/doctor.md shows the real output, except for times and counts', () => {
  it.each([['wrong', 'blog.shop.test']])('%s', async (name, hostname) => {
    const { stdout } = await doctor(hostname);
    const url = new URL('../../docs/understand/doctor.md', import.meta.url);
    const text = await readFile(url, 'utf8');
    const fence = new RegExp(`(<!-- ${name} -->\\n\`\`\`\\n[^\\n]*\\n\\n)([\\s\\S]*?)\`\`\``);
    const shown = fence.exec(text)?.[2] ?? '';
    if (isToBeWritten) {
      await writeFile(
        url,
        text.replace(fence, (_, before) => `${before}${stdout}\`\`\``),
      );
    } else {
      expect(timeless(shown), `the page should show:\n${stdout}`).toBe(timeless(stdout));
    }
  });
});

/** Removes durations, costs and times, which differ between checks. */
function timeless(page: string): string {
  return page
    .replace(/ +\d+$/gm, ' N')
    .replace(/ +ms$/gm, ' ms') // the column of a slow answer is wider
    .replace(/[\d.]+ ms/g, 'N ms')
    .replace(/^\d+ (query|queries), .*$/m, 'cost');
}
