/** Checks the output of `npm start` and that all of it is true. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Beside, startInProcess } from '../support/beside.ts';
import { startProcess } from '../support/process.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';
import { anyPorts, dataDirOf, readyLine } from './support.ts';

const root = new URL('../../', import.meta.url);
let fresh: FreshStorage;
let running: Beside | undefined;
let key = '';

async function start() {
  running = await startInProcess({ ...anyPorts, DATA_DIR: dataDirOf(fresh) });
}

const printed = () => running?.stdout() ?? '';
const found = (pattern: RegExp) => pattern.exec(printed())?.[1] ?? '';
const keysShown = () => new Set(printed().match(/signpost_\w+/g));
/** The lines under "Try:". */
const linesToTry = () =>
  printed()
    .split('Try:')[1]
    ?.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '') ?? [];

beforeAll(async () => {
  fresh = await freshStorage('embedded', { empty: true });
  await start();
});
afterAll(async () => {
  await running?.stop();
  await fresh.close();
});

describe('The first start', () => {
  it('reports once that it is ready', () => {
    expect(printed().match(/Signpost is ready/g)).toHaveLength(1);
  });

  it('prints the addresses of the dashboard and the API', async () => {
    const dashboard = await fetch(found(/Dashboard +(\S+)/));
    expect([dashboard.status, dashboard.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const api = await fetch(`${found(/API +(\S+)/)}/pets`);
    expect([api.status, await api.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'unauthorized' }),
    ]);
  });

  it("prints the edge's ports if it listens", async () => {
    const [, httpPort, httpsPort] = /http on port (\d+), https on port (\d+)/.exec(printed()) ?? [];
    expect(httpPort).not.toBe(httpsPort);
    for (const port of [httpPort, httpsPort]) await reach(Number(port));
  });

  it('shows the first key once', () => {
    key = found(/^ *(signpost_\w+)$/m);
    expect(key).not.toBe('');
    expect(printed().match(/Your first key/g)).toHaveLength(1);
    expect(keysShown()).toEqual(new Set([key]));
    expect(running?.output().slice(printed().length)).not.toContain(key); // nor in its log
  });

  it('prints three lines to try, and all of them work', async () => {
    const [add = '', create = '', demo = '', ...more] = linesToTry();
    expect(more).toEqual([]);
    const added = await promisify(execFile)('sh', ['-c', add], { cwd: root });
    expect(added.stdout).toMatch(/CNAME +docs +\S+\.edge\.signpost\.test/);
    const rex = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };
    expect(await runCurl(create)).toEqual({ status: 201, body: rex });
    expect(scripts).toHaveProperty(/^npm run (\S+)/.exec(demo)?.[1] ?? demo);
  });
});

describe('A second start on the same folder', () => {
  beforeAll(async () => {
    await running?.stop();
    await start();
  });

  it('shows no key', () => {
    expect(printed()).toContain('Signpost is ready');
    expect(printed()).not.toContain('first key');
    expect([...keysShown()]).toEqual([]);
  });

  it('still accepts the first key, also in the lines to try', async () => {
    const [, create = ''] = linesToTry();
    const again = await runCurl(create, { SIGNPOST_API_KEY: key });
    expect(again).toMatchObject({ status: 201, body: { id: 2 } });
  });
});

describe('A start without a terminal', () => {
  it('prints one line of JSON, which has the first key, and logs with role and version', async () => {
    const storage = await freshStorage('embedded', { empty: true });
    const started = await startProcess({ ...anyPorts, DATA_DIR: dataDirOf(storage) });
    try {
      const { api, firstKey, ...line } = readyLine(started);
      expect(line).toMatchObject({ role: 'all', version, msg: 'Signpost is ready' });
      const headers = { authorization: `Bearer ${firstKey}` };
      expect((await fetch(`${api}/pets`, { headers })).status).toBe(200);
      expect(await started.stop()).toBe(0);
      const logged = started.stderr().trimEnd().split('\n');
      expect(logged.at(-1)).toContain('"msg":"stopped"');
      for (const one of logged) expect(JSON.parse(one)).toMatchObject({ role: 'all', version });
      expect(started.stderr()).not.toContain(firstKey);
    } finally {
      await started.kill();
      await storage.close();
    }
  });
});

const { scripts, version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** Runs a line like a shell, with `fetch` for curl, which not every machine has. */
async function runCurl(line: string, env: Readonly<Record<string, string>> = {}) {
  const script = `curl() { printf '%s\\n' "$@"; }\n${line}`;
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { env });
  const words = stdout.trimEnd().split('\n');
  const [silent, url = '', ...options] = words;
  expect([silent, new URL(url).protocol]).toEqual(['-s', 'http:']);
  const headers = new Headers();
  let body: string | undefined;
  for (let at = 0; at < options.length; at += 2) {
    const [option, value = ''] = options.slice(at, at + 2);
    const [, name = '', content = ''] = /^([\w-]+): (.*)$/.exec(value) ?? [];
    if (option === '-H') headers.append(name, content);
    else if (option === '-d') body = value;
    else throw new Error(`what is curl's ${option}?`);
  }
  const request = body === undefined ? { headers } : { headers, body, method: 'POST' };
  const response = await fetch(url, request);
  return { status: response.status, body: (await response.json()) as unknown };
}

function reach(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
