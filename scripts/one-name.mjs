/**
 * Part of `npm run lint`: an exported name of `src` and `workers` has one meaning. So one file exports
 * it, and others declare no type or upper-case constant with that name.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const declared = /^export (?:async )?(?:function\*?|const|type|class) (\w+)/gm;
const local = /^(?:type|const(?= [A-Z][A-Z_]+ )) (\w+)/gm;
/** Not `export { name } from`, which passes on the same meaning. */
const listed = /^export (?:type )?\{([^}]*)\}(?! from)/gm;

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('generated'))
    .map((name) => join(folder, name)),
);

/** Which files export each name, and what each declares locally. */
const homes = new Map();
const locals = [];
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
  for (const [, name] of text.matchAll(local)) locals.push({ name, file });
}

for (const [name, where] of homes) {
  if (where.length === 1) continue;
  console.error(`${name} is exported by ${where.join(' and ')}: give one of them another name`);
  process.exitCode = 1;
}

for (const { name, file } of locals) {
  const [home] = homes.get(name) ?? [];
  if (home === undefined || home === file) continue;
  console.error(`${file} declares ${name}, which ${home} exports: give it another name`);
  process.exitCode = 1;
}
