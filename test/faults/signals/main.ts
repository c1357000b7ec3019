/**
 * `npm run test:signals`: what an operator sees of a fault, and after how long, with the waits of
 * production. REPORT=docs/measured/reliability.md writes the table into the page.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEndings } from '../endings.ts';
import { createClient } from '../load/client.ts';
import { createLedger } from '../load/ledger.ts';
import { startSystem } from '../system/system.ts';
import { until } from '../system/wait.ts';
import { SECTION, sectionOf, withSection } from './section.ts';
import { readSignals, type SignalWorld, type Situation, situations } from './situations.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);
const endings = createEndings(print);
const folder = mkdtempSync(join(tmpdir(), 'signpost-signals-'));
const SEEN_MS = 240_000;
const CALM_MS = 120_000;

const code = await main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`);
  return 1;
});
await endings.run();
rmSync(folder, { recursive: true, force: true });
process.exit(code);

async function main(): Promise<number> {
  const system = await startSystem(folder, endings, { timeScale: '1' });
  const world: SignalWorld = { system, client: createClient(system, createLedger()) };
  const rows: string[] = [];
  for (const situation of situations) {
    const row = await measure(world, situation);
    print(row);
    rows.push(row);
  }
  const table = [
    '| situation | first signal | after | `/ops` says so after | alert |',
    '|---|---|---|---|---|',
    ...rows,
  ];
  const path = process.env['REPORT'];
  if (path && existsSync(path)) {
    writeFileSync(path, withSection(readFileSync(path, 'utf8'), sectionOf(table)));
    print(`wrote ${SECTION} into ${path}`);
  }
  return 0;
}

/** Injects it, waits for the row of `/ops`, takes it back and waits until all is clear. */
async function measure(world: SignalWorld, situation: Situation): Promise<string> {
  await until('all is clear', async () => (await readSignals(world)).size === 0, CALM_MS);
  const takeBack = await situation.bring(world);
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(0)} s`;
  let first: string | null = null;
  let row: string | null = null;
  const isSeen = async () => {
    const seen = await readSignals(world, situation);
    const [signal] = seen;
    if (signal !== undefined) first ??= `${signal} | ${seconds()}`;
    if (seen.has(situation.row)) row ??= seconds();
    // While the API cannot answer, /ops shows nothing.
    return row !== null || (situation.row === '' && first !== null);
  };
  await until(`a signal of: ${situation.name}`, isSeen, SEEN_MS);
  await takeBack();
  return `| ${situation.name} | ${first} | ${row ?? '–'} | \`${situation.alert}\` |`;
}
