import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/interface.md', root), 'utf8');
const sections = [...page.matchAll(/^## (\d+)\. /gm)].map(([, number]) => Number(number));

it('docs/interface.md has nine numbered sections', () => {
  expect(sections).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('docs/interface.md has every section that the code mentions', () => {
  const sources = ['src', 'workers'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('generated'))
      .map((name) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8')),
  );
  const cited = sources.flatMap((source) =>
    [...source.matchAll(/interface\.md, section (\d+)/g)].map(([, number]) => Number(number)),
  );
  expect(cited.length).toBeGreaterThan(3);
  for (const section of cited) expect(sections).toContain(section);
  expect(sources.join().replace(/\s+(\* )?/g, ' ')).not.toContain('interface document');
});
