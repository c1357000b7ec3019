/** A data directory when processes crash or compete; each process runs from dist/. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/db/engine/client.ts';
import { endWithThisProcess } from '../support/children.ts';
import { type FreshStorage, freshStorage } from '../support/storage.ts';

const log = pino({ level: 'silent' });
const client = new URL('../../dist/src/db/engine/client.js', import.meta.url);

/** Opens the folder and writes rows; prints each number when its row is acknowledged. */
const writer = (dataDir: string) => `
  import { openDatabase } from ${JSON.stringify(client.href)};
  const log = { warn() {}, fatal() {} };
  const { pool } = await openDatabase({ kind: 'embedded', dataDir: ${JSON.stringify(dataDir)} }, log);
  await pool.query('CREATE TABLE IF NOT EXISTS row (n int PRIMARY KEY)');
  const { rows: [{ next }] } = await pool.query('SELECT coalesce(max(n), 0) + 1 AS next FROM row');
  for (let n = next; ; n += 1) {
    await pool.query('INSERT INTO row VALUES ($1)', [n]);
    process.stdout.write(n + '\\n');
  }
`;

let fresh: FreshStorage;
let dataDir: string;
let child: ChildProcess | undefined;

beforeEach(async () => {
  fresh = await freshStorage('embedded');
  if (fresh.storage.kind === 'embedded') dataDir = fresh.storage.dataDir;
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await fresh.close();
});

test('only the owner can open the folder of the database, also one that existed', async () => {
  await chmod(dataDir, 0o755);
  const database = await openDatabase({ kind: 'embedded', dataDir }, log);
  await database.close();
  expect(((await stat(dataDir)).mode & 0o777).toString(8)).toBe('700');
});

function startWriter() {
  const started = spawn(process.execPath, ['--input-type=module', '-e', writer(dataDir)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithThisProcess(started);
  child = started;
  return { child: started, lines: createInterface(started.stdout) };
}

/** Kills the writer after this many acknowledged rows; returns the last acknowledged number. */
async function writeAndKill(rows: number): Promise<number> {
  const { child: process, lines } = startWriter();
  let last = 0;
  let count = 0;
  lines.on('line', (line) => {
    last = Number(line);
    count += 1;
    if (count === rows) process.kill('SIGKILL');
  });
  await Promise.all([once(process, 'exit'), once(lines, 'close')]);
  return last;
}

test('a process killed while it writes loses no acknowledged row', async () => {
  const acknowledged = [await writeAndKill(40), await writeAndKill(25)];
  const database = await openDatabase(fresh.storage, log);
  const { rows } = await database.pool.query(
    'SELECT count(*)::int AS count, max(n) AS max FROM row',
  );
  expect(rows[0].max).toBeGreaterThanOrEqual(acknowledged[1] ?? Number.NaN);
  expect(rows[0].count).toBe(rows[0].max); // none is missing in between
  await database.close();
});

test('a folder that another process has open is refused, with its PID', async () => {
  const { child: owner, lines } = startWriter();
  await once(lines, 'line');
  await expect(openDatabase(fresh.storage, log)).rejects.toThrow(`in use by process ${owner.pid}`);
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  await (await openDatabase(fresh.storage, log)).close();
});
