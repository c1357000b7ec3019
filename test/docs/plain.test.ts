import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const pages = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

/** The text without code blocks and tables. */
const prose = (text: string) =>
  text
    .replace(/^(#+ .*)$/gm, '$1\n')
    .replace(/^ *```[\s\S]*?^ *```$/gm, '')
    .replace(/^( {4}.*|\s*\|.*)$/gm, '');
const wordsIn = (text: string) => text.match(/\S+/g) ?? [];

function sentencesOf(text: string): string[] {
  const paragraphs = prose(text).split(/\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.) )/);
  return paragraphs.flatMap((one) => one.replace(/\s+/g, ' ').split(/(?<=[.!?:;])\s+/));
}

describe('Every documentation page', () => {
  it.each([...pages, 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'])(
    '%s has short sentences',
    (path) => {
      const long = sentencesOf(read(path)).filter((sentence) => wordsIn(sentence).length > 30);
      expect(long).toEqual([]);
    },
  );

  // Two are references, read by section; every other page is read as a whole.
  it.each(pages.filter((path) => !/\/(findings|runbooks)\.md$/.test(path)))(
    '%s is short',
    (path) => {
      expect(wordsIn(prose(read(path))).length).toBeLessThanOrEqual(1_500);
    },
  );
});

it('The README has at most 900 words', () => {
  expect(wordsIn(read('README.md')).length).toBeLessThanOrEqual(900);
});

it('CONTRIBUTING has at most 1000 words beside its tables', () => {
  expect(wordsIn(prose(read('CONTRIBUTING.md'))).length).toBeLessThanOrEqual(1_000);
});

it('The changelog has at most 150 lines', () => {
  expect(read('CHANGELOG.md').split('\n').length).toBeLessThanOrEqual(150);
});
