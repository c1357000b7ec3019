/** Tests the lint rule of each folder (arrows.biome.json) with imports that it must reject. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');

/** Each layer builds only on those below it. docs/understand/architecture.md draws the same. */
const floors = [
  ['core'],
  ['config'],
  ['net'],
  ['db', 'dns', 'lab'],
  ['certificates', 'queue'],
  ['events', 'ops'],
  ['webhooks'],
  ['service'],
  ['edge', 'http', 'workers'],
  ['cli', 'dashboard'],
  ['process', 'roles'],
] as const;
const rooms = floors.flat();
type Room = (typeof rooms)[number];

const floorOf = (room: Room) => floors.findIndex((floor) => floor.some((one) => one === room));
const folderOf = (room: Room) => (room === 'workers' ? 'workers' : join('src', room));

type Arrow = { readonly from: Room; readonly to: Room; readonly mayBe: boolean };
const arrows: readonly Arrow[] = rooms.flatMap((from) =>
  rooms.filter((to) => to !== from).map((to) => ({ from, to, mayBe: floorOf(to) < floorOf(from) })),
);

/** Files at the top of a folder, and two folders below. */
const depths = ['', 'one', join('one', 'two')];
const fileOf = ({ from, to }: Arrow, depth: string) =>
  join(folderOf(from), depth, `to-${to}-${depths.indexOf(depth)}.ts`);

let folder: string;
let refused: ReadonlySet<string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signpost-arrows-'));
  for (const file of ['biome.json', 'arrows.biome.json', 'pure-core.grit']) {
    await copyFile(join(root, file), join(folder, file));
  }
  for (const arrow of arrows) {
    for (const depth of depths) {
      const file = fileOf(arrow, depth);
      const target = relative(dirname(file), join(folderOf(arrow.to), 'there', 'what.ts'));
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(
        join(folder, file),
        `import type { What } from '${target}';\nexport type It = What;\n`,
      );
    }
  }
  const [a, b] = ['circle-a', 'circle-b'];
  await writeFile(
    join(folder, 'src', 'net', `${a}.ts`),
    `import type { B } from './${b}.ts';\nexport type A = B;\n`,
  );
  await writeFile(
    join(folder, 'src', 'net', `${b}.ts`),
    `import type { A } from './${a}.ts';\nexport type B = A;\n`,
  );
  refused = await lint();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The rule and the file of every complaint. */
async function lint(): Promise<ReadonlySet<string>> {
  const options = ['--vcs-enabled=false', '--max-diagnostics=none', '--reporter=github'];
  const report = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [biome, 'lint', ...options, '.'],
      { cwd: folder, maxBuffer: 1 << 28 },
      (_error, stdout) => resolve(stdout), // it exits with an error, because it finds some
    );
  });
  const found = [...report.matchAll(/title=lint\/\w+\/(\w+),file=([^,]+),/g)];
  return new Set(
    found.map(([, rule, file = '']) => `${rule} ${relative(folder, resolve(folder, file))}`),
  );
}

describe.each(floors.map((floor) => ({ floor })))('Layer rules: $floor', ({ floor }) => {
  const ofFloor = arrows.filter(({ from }) => floor.some((one) => one === from));
  it.each(ofFloor)('$from builds on $to: $mayBe', (arrow) => {
    for (const depth of depths) {
      const isRefused = refused.has(`noRestrictedImports ${fileOf(arrow, depth)}`);
      expect([depth, isRefused]).toEqual([depth, !arrow.mayBe]);
    }
  });
});

it('The lint rejects a type cycle', () => {
  expect(refused).toContain('noImportCycles src/net/circle-a.ts');
});
