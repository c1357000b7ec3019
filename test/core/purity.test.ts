/** Runs the purity rules of src/core on code that violates them: a rule must be shown to fire. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');

type Row = readonly [what: string, code: string];

const foreign: readonly Row[] = [
  ['an installed library', "import { jwtVerify } from 'jose';"],
  ['another installed library', "import { LRUCache } from 'lru-cache';"],
  ['a scoped library', "import { PrismaClient } from '@prisma/client';"],
  ['an unknown library', "import anything from 'left-pad';"],
  ['an internal module of an allowed library', "import inside from 'tldts/inside';"],
  ['Node', "import { readFile } from 'node:fs';"],
  ['Node without its prefix', "import fs from 'fs';"],
  ['another folder', "import { parse } from '../config/config.ts';"],
  ['the type of another folder', "import type { Config } from '../config/config.ts';"],
  ['a module for its side effects', "import 'jose';"],
  ['a re-export', "export { jwtVerify } from 'jose';"],
  ['a dynamic import', "export const later = () => import('jose');"],
];

const foreignBelow: readonly Row[] = [
  ['a folder outside', "import { ask } from '../../dns/observe/observe.ts';"],
  ['a file outside', "import { parse } from '../../config/config.ts';"],
  ['Node', "import { readFile } from 'node:fs';"],
];
const allowedBelow: readonly Row[] = [
  ['the core above', "import { MINUTE } from '../time.ts';"],
  ['the sibling folder', "import { parse } from '../names/hostname.ts';"],
  ['a sibling file', "import { words } from './explain.ts';"],
];

const impure: readonly Row[] = [
  ['the global object', 'export const one = globalThis.process;'],
  ['the process', 'export const one = process.env;'],
  ['require', "export const one = require('jose');"],
  ["the platform's randomness", 'export const one = crypto.getRandomValues(new Uint8Array(1));'],
  ['a random ID', 'export const one = crypto.randomUUID();'],
  ['the performance clock', 'export const one = performance.now();'],
  ['the origin of the performance clock', 'export const one = performance.timeOrigin;'],
  ['the time as text', 'export const one = Date();'],
  ['the time as text, with ignored arguments', 'export const one = Date(5);'],
  ['the time', 'export const one = new Date();'],
  ['the time without parentheses', 'export const one = new Date;'],
  ['the time in milliseconds', 'export const one = Date.now();'],
  ['the clock as a function', 'export const one = Date.now;'],
  ['the clock by index', "export const one = Date['now']();"],
  ['the clock, destructured', 'export const { now } = Date;'],
  ['the clock, renamed', 'export const Clock = Date;'],
  ['a random number', 'export const one = Math.random();'],
  ['Math.random as a function', 'export const one = Math.random;'],
  ['Math.random by index', "export const one = Math['random']();"],
  ['Math.random, destructured', 'export const { random } = Math;'],
  ['Math.random, renamed', 'export const Dice = Math;'],
  ['the path of the file', 'export const one = import.meta.url;'],
  ['the locale and time zone of the host', 'export const one = new Intl.DateTimeFormat();'],
  ['the network', "export const one = fetch('https://example.com');"],
  ['a timer', 'export const one = setTimeout(() => {}, 1);'],
  ['a timer under another name', 'export const one = AbortSignal.timeout(1);'],
  ['the console', "console.log('here');"],
  ['eval', "export const one = new Function('return 1');"],
  ["Node's Buffer", "export const one = Buffer.from('a');"],
];

const allowed: readonly Row[] = [
  ['a folder below', "import { decide } from './caa/caa.ts';"],
  ['a sibling file', "import { parse } from './hostname.ts';"],
  ['tldts', "import { parse } from 'tldts';"],
  ['tr46', "import { toASCII } from 'tr46';"],
  ['ipaddr.js', "import ipaddr from 'ipaddr.js';"],
  ['a given time', 'export const later = (now: Date) => new Date(now.getTime() + 1);'],
  ['arithmetic', 'export const one = Math.max(1, 2);'],
  ['whether a value is a date', 'export const is = (one: unknown) => one instanceof Date;'],
];

const ruleNames = ['lint/style/noRestrictedImports', 'lint/style/noRestrictedGlobals', 'plugin'];

let folder: string;
/** The files that a purity rule fired at, as `rule file`. */
let fired: ReadonlySet<string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'purity-'));
  const core = join(folder, 'src', 'core');
  await mkdir(join(core, 'below'), { recursive: true });
  for (const file of ['biome.json', 'arrows.biome.json', 'pure-core.grit']) {
    await copyFile(join(root, file), join(folder, file));
  }
  const rows = Object.entries({ foreign, impure, allowed });
  for (const [kind, list] of rows) {
    for (const [i, [, code]] of list.entries()) {
      await writeFile(join(core, `${kind}-${i}.ts`), `${code}\n`);
    }
  }
  for (const [kind, list] of Object.entries({ foreignBelow, allowedBelow })) {
    for (const [i, [, code]] of list.entries()) {
      await writeFile(join(core, 'below', `${kebab(kind)}-${i}.ts`), `${code}\n`);
    }
  }
  for (const file of await coreFiles()) {
    const copy = join(core, dirname(file), `real-${basename(file)}`);
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(join(root, 'src', 'core', file), copy);
  }
  fired = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const kebab = (text: string) => text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

async function coreFiles(): Promise<readonly string[]> {
  const entries = await readdir(join(root, 'src', 'core'), { recursive: true });
  return entries.filter((entry) => entry.endsWith('.ts'));
}

/** Runs the linter as `npm run lint` does, in a folder outside any repository. */
async function lint(where: string): Promise<ReadonlySet<string>> {
  const options = ['--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github'];
  const report = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [biome, 'lint', ...options, 'src/core'],
      { cwd: where, maxBuffer: 1 << 26 },
      // It exits with an error when it finds violations.
      (_error, stdout) => resolve(stdout),
    );
  });
  // A broken pattern makes the plugin fail at every file without a separate finding.
  expect(report).not.toContain('errored');
  const found = [...report.matchAll(/title=([^,]+),file=[^,]*?([^/,]+)\.ts,/g)];
  return new Set(found.map(([, rule, file]) => `${rule} ${file}`));
}

const firedAt = (file: string) => ruleNames.filter((rule) => fired.has(`${rule} ${file}`));
const numbered = (rows: readonly Row[]) => rows.map(([what, code], i) => [what, code, i] as const);

describe('the core rejects', () => {
  it.each(numbered(foreign))('an import of %s: %s', (_what, _code, i) => {
    expect(firedAt(`foreign-${i}`)).toEqual(['lint/style/noRestrictedImports']);
  });

  it.each(numbered(impure))('%s: %s', (_what, _code, i) => {
    expect(firedAt(`impure-${i}`)).not.toEqual([]);
  });
});

describe('a folder of the core', () => {
  it.each(numbered(foreignBelow))('rejects an import of %s: %s', (_what, _code, i) => {
    expect(firedAt(`foreign-below-${i}`)).toEqual(['lint/style/noRestrictedImports']);
  });

  it.each(numbered(allowedBelow))('may use %s: %s', (_what, _code, i) => {
    expect(firedAt(`allowed-below-${i}`)).toEqual([]);
  });
});

describe('the core may use', () => {
  it.each(numbered(allowed))('%s: %s', (_what, _code, i) => {
    expect(firedAt(`allowed-${i}`)).toEqual([]);
  });
});

it('the core itself violates no rule and disables none', async () => {
  const files = await coreFiles();
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    expect([file, firedAt(`real-${basename(file, '.ts')}`)]).toEqual([file, []]);
    const text = await readFile(join(root, 'src', 'core', file), 'utf8');
    expect([file, /biome-ignore|@ts-(ignore|expect-error)/.test(text)]).toEqual([file, false]);
  }
});
