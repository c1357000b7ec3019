/** Limits who writes a domain's decisions (docs/decisions/0022-one-writer.md). */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.ts') && !file.startsWith(join('src', 'db', 'generated'))),
);
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const writes =
  /\.domain\.(?:create|update|upsert)\w*\(|UPDATE domain SET ([\s\S]*?)(?:WHERE|FROM|RETURNING)/g;
const ofNoDecision = /^(?:shown|watched_until|metadata) = /;

/** Files that write a domain's row, except for observations, watchers and the erasure of metadata. */
const writers = files.filter((file) =>
  [...read(file).matchAll(writes)].some(([, columns]) => !ofNoDecision.test(columns ?? '')),
);

test('Decisions, batches of identical decisions and sweep leases have one writer each', () => {
  expect(writers).toEqual([
    'src/db/domains/checks.ts',
    'src/db/domains/commit.ts',
    'src/db/domains/sweeps.ts',
  ]);
});

test('Only the core decides the events of a domain', () => {
  const callers = files.filter((file) => /\btransition\(/.test(read(file)));
  expect(callers.filter((file) => !file.startsWith('src/core/'))).toEqual([]);
});

test('The database layer uses no randomness and gets the time from its callers', () => {
  const inDb = files.filter((file) => file.startsWith('src/db/'));
  const drawn = inDb.filter((file) => /Math\.random|new Date\(\)/.test(read(file)));
  expect(drawn).toEqual([]);
});

test('The types of the generated client stay in the database layer', () => {
  const strangers = files.filter(
    (file) => !file.startsWith('src/db/') && /from '[^']*db\/generated\//.test(read(file)),
  );
  expect(strangers).toEqual([]);
});
