/** CPU per request over HTTP/1.1, HTTP/2 and HTTP/3: Caddy alone, and Caddy in front of our edge. Counts all serving processes. */
import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startBrowser } from '../../test/support/browser.ts';
import { median } from '../support/figures.ts';
import { type Started, startContender } from './contenders.ts';
import type { Sites } from './contest.ts';
import { pathOf } from './programs.ts';
import type { Servers } from './servers.ts';
import { hostnameOf, ROUNDS, SECONDS, WARM_UP } from './settings.ts';
import { openSites } from './sites.ts';

const contenders = ['caddy', 'caddy before signpost'] as const;
const versions = ['h1', 'h2', 'h3'] as const;
type Contender = (typeof contenders)[number];
type Version = (typeof versions)[number];

/** Open at once. */
const CONNECTIONS = 16;

/** Resolves to the number of answered requests. */
type Load = (port: number, sites: Sites, seconds: number) => Promise<number>;

const loads: Readonly<Record<Version, Load>> = {
  h1: (port, _sites, seconds) => h2load(port, seconds, ['--h1', '-c', `${CONNECTIONS}`]),
  h2: (port, _sites, seconds) => h2load(port, seconds, ['-c', '4', '-m', `${CONNECTIONS / 4}`]),
  h3: browse,
};

export async function protocols(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers, 1);
  const measured = new Map<string, number[]>();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const version of versions) {
        for (const place of contenders.keys()) {
          const name = contenders[(place + round) % contenders.length] ?? 'caddy';
          const cost = await measureOne(name, version, sites);
          const key = `${name}/${version}`;
          measured.set(key, [...(measured.get(key) ?? []), cost]);
          process.stderr.write(`round ${round + 1}: ${key} ${cost.toFixed(0)} µs\n`);
        }
      }
    }
  } finally {
    await sites.close();
  }
  return report((name, version) => measured.get(`${name}/${version}`) ?? []);
}

/** CPU microseconds per request. */
async function measureOne(name: Contender, version: Version, sites: Sites): Promise<number> {
  const started = await startContender(name, sites);
  try {
    await loads[version](started.port, sites, WARM_UP);
    const before = cpuOf(started);
    const answered = await loads[version](started.port, sites, SECONDS);
    return (cpuOf(started) - before) / answered;
  } finally {
    await started.stop();
  }
}

function cpuOf({ cpu }: Started): number {
  const { own, database } = cpu();
  return own + database;
}

async function h2load(port: number, seconds: number, args: readonly string[]): Promise<number> {
  const url = `https://${hostnameOf(0)}:${port}/`;
  const where = [`--connect-to=127.0.0.1:${port}`];
  const all = ['-D', `${seconds}`, ...args, ...where, url];
  const { stdout } = await promisify(execFile)(pathOf('h2load'), all);
  const [, done, failed] =
    /requests: \d+ total, \d+ started, (\d+) done, \d+ succeeded, (\d+) failed/.exec(stdout) ?? [];
  if (failed !== '0') throw new Error(stdout);
  return Number(done);
}

/** Sent by a browser, the only HTTP/3 client here. Only the server's CPU counts, not the browser's speed. */
async function browse(port: number, { files }: Sites, seconds: number): Promise<number> {
  const origin = `${hostnameOf(0)}:${port}`;
  const leaf = new X509Certificate(await readFile(join(files, `${hostnameOf(0)}.crt`)));
  const key = leaf.publicKey.export({ type: 'spki', format: 'der' });
  const browser = await startBrowser([
    `--host-resolver-rules=MAP ${hostnameOf(0)} 127.0.0.1`,
    `--origin-to-force-quic-on=${origin}`,
    `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
  ]);
  try {
    const page = await browser.newPage();
    await page.goto(`https://${origin}/`);
    const [count, version] = await page.evaluate<[number, string]>(`(async () => {
      const end = performance.now() + ${seconds * 1_000};
      let count = 0;
      const lane = async () => {
        while (performance.now() < end) {
          const answer = await fetch('/', { cache: 'no-store' });
          if (answer.status !== 200) throw new Error('status ' + answer.status);
          await answer.text();
          count += 1;
        }
      };
      await Promise.all(Array.from({ length: ${CONNECTIONS} }, lane));
      return [count, performance.getEntriesByType('navigation')[0].nextHopProtocol];
    })()`);
    if (version !== 'h3') throw new Error(`the browser came over ${version}`);
    return count;
  } finally {
    await browser.close();
  }
}

function report(of: (name: Contender, version: Version) => readonly number[]): readonly string[] {
  return [
    '| CPU µs a request | caddy | caddy before signpost | ratio | rounds |',
    '|---|---|---|---|---|',
    ...versions.map((version) => {
      const [plain, ours] = contenders.map((name) => median(of(name, version)));
      const rounds = contenders.map((name) =>
        of(name, version)
          .map((cost) => cost.toFixed(0))
          .join(', '),
      );
      return `| ${version} | ${plain?.toFixed(0)} | ${ours?.toFixed(0)} | ${((ours ?? 0) / (plain ?? 1)).toFixed(2)} | ${rounds.join(' · ')} |`;
    }),
  ];
}
