/**
 * Tests the setup of `npm start` and `npm test` from scratch, in a small project with the real npm
 * and compiler and a stub for Prisma.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

/** A compiler takes seconds, and tens of them on a busy machine. */
vi.setConfig({ testTimeout: 240_000 });

const checkout = fileURLToPath(new URL('../../', import.meta.url));
let root: string;

type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs the setup of the small project. */
function setUp(more: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  // Disables npm's network access.
  const npm = { offline: 'true', audit: 'false', fund: 'false', update_notifier: 'false' };
  const settings = Object.entries(npm).map(([name, value]) => [`npm_config_${name}`, value]);
  const env = { ...process.env, SIGNPOST_SETUP: '', ...Object.fromEntries(settings), ...more };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(root, 'scripts', 'setup.mjs')],
      { cwd: tmpdir(), env, timeout: 110_000 },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

/** The announced steps without their times. */
const steps = ({ stdout }: Outcome) =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/ … [\d.]+ s$/, ''));

const nothing: Outcome = { code: 0, stdout: '', stderr: '' };

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
}

const read = (path: string) => readFile(join(root, path), 'utf8');
const compiler = pathToFileURL(join(checkout, 'node_modules/typescript/bin/tsc'));
const linked = { typescript: 'file:packages/typescript', prisma: 'file:packages/prisma' };

const projectFiles: Readonly<Record<string, unknown>> = {
  'package.json': { name: 'small', version: '1.0.0', type: 'module', dependencies: linked },
  'package-lock.json': {
    name: 'small',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'small', version: '1.0.0', dependencies: linked },
      'node_modules/prisma': { resolved: 'packages/prisma', link: true },
      'node_modules/typescript': { resolved: 'packages/typescript', link: true },
      'packages/prisma': { version: '1.0.0' },
      'packages/typescript': { version: '1.0.0' },
    },
  },
  'packages/typescript/package.json': { name: 'typescript', version: '1.0.0', type: 'module' },
  'packages/typescript/bin/tsc': `await import(${JSON.stringify(compiler)});\n`,
  'packages/prisma/package.json': { name: 'prisma', version: '1.0.0', type: 'module' },
  'packages/prisma/build/index.js': `
    import { mkdirSync, writeFileSync } from 'node:fs';
    mkdirSync('src/db/generated', { recursive: true });
    writeFileSync('src/db/generated/client.ts', 'export const client = 1;');`,
  'tsconfig.json': {},
  'tsconfig.build.json': {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2023',
      types: [],
      rootDir: '.',
      outDir: 'dist',
    },
    include: ['src', 'workers'],
  },
  'prisma/schema.prisma': '// the first one',
  'src/main.ts': 'export const answer: number = 41;\n',
  'src/old.ts': 'export const old = true;\n',
  'workers/start.ts': 'export const started = true;\n',
  'packages/client/generate.mjs': `
    import { writeFileSync } from 'node:fs';
    import { answer } from '../../dist/src/main.js';
    writeFileSync(
      new URL('src/schema.ts', import.meta.url),
      'export type Answer = ' + answer + ';');`,
  'packages/client/tsconfig.json': {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2023',
      types: [],
      rootDir: 'src',
      outDir: 'dist',
    },
    include: ['src'],
  },
  'packages/client/package.json': { name: 'small-client', version: '1.0.0', type: 'module' },
  'packages/client/src/index.ts': `export type { Answer } from './schema.js';\n`,
  'src/db/engine/embedded/make-template.ts': `
    // @ts-expect-error: this small project has no types of Node's
    const { mkdirSync, writeFileSync } = await import('node:fs');
    mkdirSync('node_modules/.signpost/postgres', { recursive: true });
    writeFileSync('node_modules/.signpost/postgres/PG_VERSION', '17');
    export {};`,
};

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'signpost-setup-'));
  for (const [path, content] of Object.entries(projectFiles)) {
    await write(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  await mkdir(join(root, 'scripts'));
  await cp(join(checkout, 'scripts', 'setup.mjs'), join(root, 'scripts', 'setup.mjs'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

it('The lockfile has the integrity of every package from a registry', async () => {
  const lock = JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8'));
  const packages = Object.entries<{ integrity?: string; link?: true }>(lock.packages);
  const registered = packages.filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  );
  expect(registered.length).toBeGreaterThan(100);
  const without = registered.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'));
  expect(without.map(([path]) => path)).toEqual([]);
});

describe('The setup of a fresh clone', () => {
  it('does everything once, however many start it at the same time', async () => {
    const both = await Promise.all([setUp(), setUp()]);
    expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(both.flatMap(steps)).toEqual([
      'Installing the dependencies',
      'Generating the database client',
      'Compiling',
      'Generating the API client',
      'Making an empty database',
    ]);
    expect(await read('dist/src/main.js')).toContain('answer = 41');
  });

  it('is silent and does nothing the second time', async () => {
    expect(await setUp()).toEqual(nothing);
  });
});

describe('A later setup', () => {
  it('compiles edited files and forgets removed ones', async () => {
    await write('src/main.ts', 'export const answer: number = 42;\n');
    await rm(join(root, 'src/old.ts'));
    expect(steps(await setUp())).toEqual(['Compiling', 'Generating the API client']);
    expect(await read('dist/src/main.js')).toContain('answer = 42');
    expect(await read('packages/client/src/schema.ts')).toContain('Answer = 42');
    await expect(read('dist/src/old.js')).rejects.toThrow('ENOENT');
    expect(await setUp()).toEqual(nothing);
  });

  it('regenerates the client of an edited schema', async () => {
    await write('prisma/schema.prisma', '// the second one');
    expect(steps(await setUp())).toEqual([
      'Generating the database client',
      'Compiling',
      'Generating the API client',
    ]);
    expect(await setUp()).toEqual(nothing);
  });

  it('that fails says why, exits with 1 and can be repeated', async () => {
    await write('src/main.ts', "export const answer: number = 'forty-two';\n");
    for (const _time of ['first', 'second']) {
      const { code, stdout, stderr } = await setUp();
      expect([code, stdout]).toEqual([1, 'Compiling … failed\n']);
      expect(stderr).toContain('src/main.ts(1,14): error TS2322');
    }
    await write('src/main.ts', 'export const answer: number = 42;\n');
    expect(steps(await setUp())).toEqual(['Compiling']);
    expect(await setUp()).toEqual(nothing);
  });

  it('does nothing while tests run, also for edited files', async () => {
    await write('src/main.ts', 'export const answer: number = 43;\n');
    expect(await setUp({ SIGNPOST_SETUP: 'done' })).toEqual(nothing);
    expect(await read('dist/src/main.js')).toContain('answer = 42');
    expect(steps(await setUp())).toEqual(['Compiling', 'Generating the API client']);
  });
});
