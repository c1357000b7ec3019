import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = new URL('../', import.meta.url);
const isThere = (path: string) => existsSync(new URL(path, root));
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** From the top of the repository; text with a blank, `*` or `<` is a command or a pattern. */
const fromTheTop = /^(?:src|workers|test|docs|bench|scripts|prisma|bin)\/[\w./-]*$/;
/** By its bare name: at the top, or beside a path in the same block. */
const bareName =
  /^(?:[\w-]+\/|\.?[\w.-]+\.(?:ts|mjs|json|ya?ml|md|grit|prisma|example)|Dockerfile)$/;

/** Paragraphs, list items and table rows, without program output. */
const blocks = (text: string) =>
  text.replace(/^```[\s\S]*?^```$/gm, '').split(/\n\s*\n|\n(?=\|)|\n(?=\s*(?:[-*]|\d+\.) )/);

function wrongPathsIn(text: string): string[] {
  return blocks(text).flatMap((block) => {
    const quoted = [...block.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
    const paths = quoted.filter((code) => fromTheTop.test(code));
    const folders = ['', ...paths.map((path) => path.slice(0, path.lastIndexOf('/') + 1))];
    const bare = quoted.filter((code) => bareName.test(code) && !fromTheTop.test(code));
    return [
      ...paths.filter((path) => !isThere(path)),
      ...bare.filter((name) => !folders.some((folder) => isThere(folder + name))),
    ];
  });
}

/** A heading's anchor on GitHub. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

function wrongLinksIn(document: string, text: string): string[] {
  const links = /\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g;
  const targets = [...text.matchAll(links)].map(([, link, picture]) => link ?? picture ?? '');
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? document : posix.join(posix.dirname(document), file);
    if (!isThere(path)) return true;
    if (anchor === undefined) return false;
    const headings = [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, words = '']) => words);
    return !headings.map(anchorOf).includes(anchor);
  });
}

describe('The documentation', () => {
  it.each(documents)('%s names only existing paths', (document) => {
    expect(wrongPathsIn(read(document))).toEqual([]);
  });

  it.each(documents)('%s runs no command that npm could fetch from its registry', (document) => {
    expect(read(document)).not.toMatch(/\bnpx (?!--no\b)|npm exec (?!--no\b)/);
  });

  it.each(documents)('%s has no broken link', (document) => {
    expect(wrongLinksIn(document, read(document))).toEqual([]);
  });

  it.each([
    ['`src/config/config.ts` and `workers/`', []],
    ['`src/nowhere.ts`', ['src/nowhere.ts']],
    ['| `src/http/socket/` | `server.ts` and `pipeline.ts` |', []],
    ['| `src/http/` | `systems/` |', ['systems/']],
    ['- `src/http/`\n- `api.ts`', ['api.ts']],
    ['`package.json`, `parcel.json`', ['parcel.json']],
    ['`GET /v1/pets`, `docs/*.md`, `.data`', []],
  ] as const)('the check of %j finds %j', (text, wrong) => {
    expect(wrongPathsIn(text)).toEqual(wrong);
  });

  it.each([
    ['docs/run/edge.md', '[a](../understand/findings.md#hints)', []],
    ['docs/run/edge.md', '[a](../../README.md)', []],
    ['README.md', '[a](findings.md)', ['findings.md']],
    ['docs/understand/doctor.md', '[a](findings.md#guesses)', ['findings.md#guesses']],
  ] as const)('the check of %s with %j finds %j', (document, text, wrong) => {
    expect(wrongLinksIn(document, text)).toEqual(wrong);
  });
});

/** A documentation page with an optional anchor, in messages, comments and alerts. */
const cited = /(?<![\w/])docs\/[\w/-]+\.md(?:#[\w-]+)?/g;

describe('Documentation pages that the code mentions', () => {
  const files = ['src', 'workers', 'deploy', 'scripts'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs|ya?ml)$/.test(name) && !name.includes('generated'))
      .map((name) => `${folder}/${name}`),
  );

  it('exist with their anchors', () => {
    const wrong = [...files, '.env.example'].flatMap((file) =>
      [...read(file).matchAll(cited)]
        .filter(([link]) => wrongLinksIn('README.md', `[a](${link})`).length > 0)
        .map(([link]) => `${file}: ${link}`),
    );
    expect(wrong).toEqual([]);
  });
});
