/**
 * Everything that has to be done before the service or the tests can run, done once: dependencies, Prisma's
 * client, compiled JavaScript, the API's client, an empty database directory. Run by `npm start` and `npm test`; what is done already
 * is skipped, so that a later run costs a few milliseconds. Node's own modules only: there may be no others yet.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (...parts) => join(root, ...parts);
const notes = at('node_modules', '.signpost');
const stateFile = join(notes, 'state.json');
const template = join(notes, 'postgres');

/** In this order. `due` compares with the note of the last success; `act` throws on failure. */
const steps = [
  {
    name: 'dependencies',
    label: 'Installing the dependencies',
    due: (state) => state.dependencies !== lockHash() && !installedMatchesLock(),
    act: () => npm('ci', '--include=dev'),
    note: lockHash,
  },
  {
    name: 'client',
    label: 'Generating the database client',
    due: (state) =>
      state.client !== schemaHash() || !existsSync(at('src', 'db', 'generated', 'client.ts')),
    act: () =>
      node('node_modules/prisma/build/index.js', ['generate'], {
        // Any existing file: `generate` wants a schema engine and does not use it. For this call only, because
        // Prisma's migrate commands do nothing and report success with it.
        PRISMA_SCHEMA_ENGINE_BINARY: at('package.json'),
        CHECKPOINT_DISABLE: '1',
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
      }),
    note: schemaHash,
  },
  {
    name: 'build',
    label: 'Compiling',
    due: (state) => state.build !== sourceHash() || !existsSync(at('dist', 'src')),
    act: build,
    note: sourceHash,
  },
  {
    name: 'api-client',
    label: 'Generating the API client',
    due: (state) =>
      state['api-client'] !== apiClientHash() ||
      !existsSync(at('packages', 'client', 'dist', 'index.js')),
    act: () => {
      node('packages/client/generate.mjs', []);
      node('node_modules/typescript/bin/tsc', ['-p', 'packages/client']);
    },
    note: apiClientHash,
  },
  {
    name: 'template',
    label: 'Making an empty database',
    due: () => !existsSync(join(template, 'PG_VERSION')),
    act: () => node('dist/src/db/engine/embedded/make-template.js', []),
    note: () => true,
  },
];

checkNode();
// While tests run, their project stays as it was set up: one of them must not recompile it under the others.
if (process.env.SIGNPOST_SETUP !== 'done' && anythingDue()) await locked(runSteps);

function anythingDue() {
  const state = readState();
  return steps.some((step) => step.due(state));
}

function runSteps() {
  for (const step of steps) {
    if (!step.due(readState())) {
      writeState({ ...readState(), [step.name]: step.note() }); // another process did it
      continue;
    }
    process.stdout.write(`${step.label} … `);
    const startedAt = performance.now();
    try {
      writeState({ ...readState(), [step.name]: null }); // a failed step runs again
      step.act();
    } catch (error) {
      console.log('failed');
      console.error(error.message);
      process.exitCode = 1;
      return;
    }
    writeState({ ...readState(), [step.name]: step.note() });
    console.log(`${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  }
}

/** The oldest releases that can `require` an ES module without a flag, which some dependencies need. */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const minorWanted = { 20: 19, 22: 12 }[major];
  if (major > 22 || (minorWanted !== undefined && minor >= minorWanted)) return;
  console.error(
    `Signpost needs Node.js 20.19, 22.12 or newer; this is ${process.versions.node}. ` +
      'Node.js 24 is recommended: https://nodejs.org/',
  );
  process.exit(1);
}

// --- Dependencies

function lockHash() {
  return hash([readFileSync(at('package-lock.json'))]);
}

/** Whether `npm ci` has already run: npm keeps a list of what it installed. */
function installedMatchesLock() {
  const list = at('node_modules', '.package-lock.json');
  if (!existsSync(list)) return false;
  const installed = JSON.parse(readFileSync(list, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(at('package-lock.json'), 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const there = installed[path];
    // Optional packages can belong to another platform.
    if (there === undefined) return optional === true;
    return there.version === version && there.integrity === integrity && existsSync(at(path));
  });
}

function npm(...args) {
  // Set by npm when it runs this script; the name alone is a batch file on Windows.
  const cli = process.env.npm_execpath;
  if (cli?.endsWith('.js')) run(process.execPath, [cli, ...args]);
  else run('npm', args, {}, process.platform === 'win32');
}

// --- Client and build

function schemaHash() {
  return hash([readFileSync(at('prisma', 'schema.prisma')), readFileSync(at('package-lock.json'))]);
}

function sourceHash() {
  const files = ['src', 'workers'].flatMap((folder) => filesUnder(at(folder), ['generated']));
  const configs = [
    'tsconfig.json',
    'tsconfig.build.json',
    'prisma/schema.prisma',
    'package-lock.json',
  ];
  return hash(
    [...files, ...configs.map((file) => at(file))].flatMap((file) => [file, readFileSync(file)]),
  );
}

/** Its schema is made from the sources of the service. */
function apiClientHash() {
  const files = filesUnder(at('packages', 'client'), ['node_modules', 'dist', 'schema.ts']);
  return hash([sourceHash(), ...files.flatMap((file) => [file, readFileSync(file)])]);
}

function build() {
  node('node_modules/typescript/bin/tsc', ['-p', 'tsconfig.build.json']);
  // Code for browsers has other globals, and so a separate tsconfig.json beside it.
  for (const file of filesUnder(at('src'), ['generated']).filter((path) =>
    path.endsWith('tsconfig.json'),
  ))
    node('node_modules/typescript/bin/tsc', ['-p', file]);
  writeFileSync(at('dist', 'commit'), commit());
  for (const file of filesUnder(at('dist', 'src'), []).concat(
    filesUnder(at('dist', 'workers'), []),
  )) {
    const source = at(relative(at('dist'), file).replace(/\.js(\.map)?$/, '.ts'));
    if (!existsSync(source)) rmSync(file);
  }
}

/** Empty without git, as in a container: there COMMIT can say it. */
function commit() {
  const { stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  return stdout?.trim() || process.env.COMMIT || '';
}

function filesUnder(folder, except) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (except.includes(entry.name)) return [];
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(path, except) : [path];
    });
}

// --- Shared by all steps

function node(script, args, env) {
  run(process.execPath, [at(script), ...args], env);
}

function run(command, args, env = {}, shell = false) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    shell,
  });
  if (error) throw new Error(`${command} could not be run: ${error.message}`);
  if (status !== 0)
    throw new Error(`${stdout}${stderr}`.trim() || `${command} ended with ${status}`);
}

function hash(parts) {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part).update('\0');
  return digest.digest('hex');
}

function readState() {
  try {
    return JSON.parse(readFileSync(stateFile, 'utf8'));
  } catch {
    return {};
  }
}

function writeState(state) {
  mkdirSync(notes, { recursive: true });
  const draft = `${stateFile}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(state));
  renameSync(draft, stateFile);
}

/** Outside of node_modules, which `npm ci` removes. A lock whose owner is dead is taken over. */
async function locked(act) {
  const lock = join(tmpdir(), `signpost-setup-${hash([root]).slice(0, 16)}`);
  const owner = join(lock, 'pid');
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (abandoned(owner)) rmSync(lock, { recursive: true, force: true });
      else await wait(100);
    }
  }
  try {
    writeFileSync(owner, String(process.pid));
    if (anythingDue()) act();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** An unreadable lock is being written by its owner. */
function abandoned(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
