import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');

/** The words of the third column, each with those of the first. */
const unwanted = new Map(
  contributing
    .slice(contributing.indexOf('| say | for | not |'))
    .split('\n\n', 1)[0]
    ?.split('\n')
    .slice(2)
    .flatMap((row) => {
      const [, say = '', , not = ''] = row.split('|').map((cell) => cell.trim());
      return not.split(', ').map((word) => [word, say] as const);
    }),
);

/** Names that customers' programs rely on. */
const published = new Set(['name_not_told', 'account_untold', 'nobody']);

const files = ['src', 'workers', 'test', 'bench', 'scripts'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => !file.startsWith(join('src', 'db', 'generated'))),
);

/** TypeScript and JavaScript files. This file contains the unwanted words as examples. */
const sources = files.filter(
  (file) => /\.(ts|mjs)$/.test(file) && file !== join('test', 'words.test.ts'),
);

/** Removes comments first, then strings: an apostrophe in a comment opens no string. */
function withoutWords(source: string): string {
  return source
    .replace(/\/\*[\s\S]*?\*\//g, ' ')
    .replace(/(^|\s)\/\/.*$/gm, ' ')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, ' ')
    .replace(/`(?:[^`\\]|\\.)*`/g, (text) => [...text.matchAll(/\$\{([^}]*)\}/g)].join(' '));
}

const wordsIn = (name: string): string[] =>
  (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());

const wrongIn = (names: Iterable<string>): string[] =>
  [...new Set(names)].flatMap((name) =>
    published.has(name)
      ? []
      : wordsIn(name).flatMap((word) => {
          const say = unwanted.get(word);
          return say === undefined ? [] : [`${name}: say ${say}`];
        }),
  );

const identifiersIn = (source: string) => withoutWords(source).match(/[A-Za-z_$][\w$]*/g) ?? [];

const logged = /\blog\.(?:trace|debug|info|warn|error)\((?:[^'`;]*?),?\s*['`]([^'`]+)['`]/g;
const linesIn = (source: string) => [...source.matchAll(logged)].map(([, line = '']) => line);

const titled =
  /\b(?:it|describe)(?:\.\w+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?)*\(\s*(['"`])((?:(?!\1)[^\\]|\\.)+)\1/g;
/** "Look up" is the usual word for DNS and caches. */
const lookUp = /\blook(?:s|ed)?(?=-up| up|.* up\b)/g;
const titlesIn = (source: string) =>
  [...source.matchAll(titled)].map(([, , title = '']) => title.replace(lookUp, ''));

describe('The word table of CONTRIBUTING.md', () => {
  it('is parsed', () => {
    expect(unwanted.get('look')).toBe('check, observation, query');
    expect(unwanted.size).toBeGreaterThan(20);
  });

  it('finds unwanted words in identifiers and log lines', () => {
    const source = `/** A look. */ const lookAgain = \`x \${toldThen} y\`; // anew\nf('heard', "it's");`;
    expect(wrongIn(identifiersIn(source))).toEqual([
      'lookAgain: say check, observation, query',
      'toldThen: say event, reply, report',
    ]);
    expect(linesIn("log.warn({ err }, 'heard nothing');")).toEqual(['heard nothing']);
    expect(titlesIn("it.each([f('a')])('is looked up, %s', () => {")).toEqual(['is  up, %s']);
    expect(wrongIn(['lookup', 'lookupAddresses', 'belongs'])).toEqual([]);
  });

  it('applies to every file name', () => {
    expect(wrongIn(files.map((file) => basename(file)))).toEqual([]);
  });

  it('applies to every identifier and log line', () => {
    const wrong = sources.flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      const lines = linesIn(source).flatMap((line) => line.split(' '));
      return wrongIn([...identifiersIn(source), ...lines]).map((what) => `${file}: ${what}`);
    });
    expect(wrong).toEqual([]);
  });

  it('does not replace this rule: no test title starts with a conjunction', () => {
    const wrong = sources
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => titlesIn(readFileSync(join(root, file), 'utf8')))
      .filter((title) => /^(and|but|nor|or) /i.test(title));
    expect(wrong).toEqual([]);
  });

  it('applies to every test title', () => {
    const wrong = sources
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) =>
        titlesIn(readFileSync(join(root, file), 'utf8')).flatMap((title) =>
          wrongIn(title.split(/[^A-Za-z]+/)).map((what) => `${file}: ${what} (${title})`),
        ),
      );
    expect(wrong).toEqual([]);
  });
});
