/**
 * Parts of the documentation are made from the code. `npm run docs` writes them again; without UPDATE_DOCS this test says
 * which are out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blocks, exampleFile } from './support/docs-blocks.ts';

const isUpdate = process.env['UPDATE_DOCS'] === '1';
const urlOf = (path: string) => new URL(`../${path}`, import.meta.url);

it('.env.example is made from src/config/variables.ts', () => {
  if (isUpdate) writeFileSync(urlOf('.env.example'), exampleFile());
  expect(readFileSync(urlOf('.env.example'), 'utf8'), 'out of date: npm run docs').toBe(
    exampleFile(),
  );
});

it.each(blocks)('$page has the block “$name” as the code states it', ({ page, name, text }) => {
  const [start, end] = [`<!-- ${name}: npm run docs -->\n\n`, `\n<!-- /${name} -->`];
  const before = readFileSync(urlOf(page), 'utf8');
  const [head, rest] = before.split(start);
  const [, tail] = rest?.split(end) ?? [];
  if (tail === undefined)
    throw new Error(`${page} needs the lines ${start.trim()} and ${end.trim()}`);
  const wanted = `${head}${start}${text()}\n${end}${tail}`;
  if (isUpdate && before !== wanted) writeFileSync(urlOf(page), wanted);
  expect(readFileSync(urlOf(page), 'utf8'), 'out of date: npm run docs').toBe(wanted);
});
