/** `npm start` as a person sees it: what it prints, and that every word of it is true. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Beside, startBeside } from '../support/beside.ts';
import { startProcess } from '../support/process.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';
import { anyPorts, dataDirOf } from './support.ts';

let fresh: FreshStorage;
let running: Beside | undefined;
let key = '';

async function start(by: (env: typeof anyPorts & { DATA_DIR: string }) => Promise<Beside>) {
  running = await by({ ...anyPorts, DATA_DIR: dataDirOf(fresh) });
}

const printed = () => running?.stdout() ?? '';
const found = (pattern: RegExp) => pattern.exec(printed())?.[1] ?? '';
const keysShown = () => new Set(printed().match(/signpost_\w+/g));
/** What stands under "Try:". */
const linesToTry = () =>
  printed()
    .split('Try:')[1]
    ?.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '') ?? [];

beforeAll(async () => {
  fresh = await freshStorage('embedded', { empty: true });
  await start(startProcess);
});
afterAll(async () => {
  await running?.stop();
  await fresh.close();
});

describe('the first start', () => {
  it('says that it is ready, once', () => {
    expect(printed().match(/Signpost is ready/g)).toHaveLength(1);
  });

  it('prints where the dashboard and the API are', async () => {
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

  it("prints the edge's ports, where somebody listens", async () => {
    const [, httpPort, httpsPort] = /http on port (\d+), https on port (\d+)/.exec(printed()) ?? [];
    expect(httpPort).not.toBe(httpsPort);
    for (const port of [httpPort, httpsPort]) await reach(Number(port));
  });

  it('shows the first key, once', () => {
    key = found(/^ *(signpost_\w+)$/m);
    expect(key).not.toBe('');
    expect(printed().match(/Your first key/g)).toHaveLength(1);
    expect(keysShown()).toEqual(new Set([key]));
    expect(running?.output().slice(printed().length)).not.toContain(key); // nor in its log
  });

  it('prints three lines to try, and all of them work', async () => {
    const [list = '', create = '', demo = '', ...more] = linesToTry();
    expect(more).toEqual([]);
    expect(await runCurl(list)).toEqual({ status: 200, body: [] });
    const rex = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };
    expect(await runCurl(create)).toEqual({ status: 201, body: rex });
    expect(await runCurl(list)).toEqual({ status: 200, body: [rex] });
    expect(scripts).toHaveProperty(/^npm run (\S+)/.exec(demo)?.[1] ?? demo);
  });
});

describe('a second start on the same folder', () => {
  beforeAll(async () => {
    await running?.stop();
    await start(startBeside);
  });

  it('shows no key', () => {
    expect(printed()).toContain('Signpost is ready');
    expect(printed()).not.toContain('first key');
    expect([...keysShown()]).toEqual([]);
  });

  it('still takes the first one, also in the lines to try', async () => {
    const [list = '', create = ''] = linesToTry();
    expect(await runCurl(create, { SIGNPOST_API_KEY: key })).toMatchObject({ status: 201 });
    const pets = [{ name: 'Rex' }, { name: 'Rex' }];
    expect(await runCurl(list, { SIGNPOST_API_KEY: key })).toMatchObject({
      status: 200,
      body: pets,
    });
  });
});

const scripts: unknown = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).scripts;

/** Runs a line as a shell reads it, with `fetch` for curl, which not every machine has. */
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
