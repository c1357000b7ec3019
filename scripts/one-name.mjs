/** Part of `npm run lint`: an exported name of `src` and `workers` has one meaning, so it is exported by one file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const declared = /^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm;
/** Not `export { name } from`, which passes on the same meaning. */
const listed = /^export (?:type )?\{([^}]*)\}(?! from)/gm;

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('generated'))
    .map((name) => join(folder, name)),
);

/** Which files export each name. */
const homes = new Map();
for (const file of files) {
  const text = readFileSync(join(root, file), 'utf8');
  const names = [
    ...[...text.matchAll(declared)].map(([, name]) => name),
    ...[...text.matchAll(listed)].flatMap(([, list]) =>
      list
        .split(',')
        .map((one) => one.trim().split(' ').at(-1))
        .filter((name) => name),
    ),
  ];
  for (const name of names) homes.set(name, [...(homes.get(name) ?? []), file]);
}

for (const [name, where] of homes) {
  if (where.length === 1) continue;
  console.error(`${name} is exported by ${where.join(' and ')}: give one of them another name`);
  process.exitCode = 1;
}
