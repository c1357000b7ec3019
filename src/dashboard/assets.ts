/** The style and the script of the pages, read once; their paths change with what is in them, so browsers keep them. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectRoot } from '../db/engine/migrate.ts';

export type Asset = { readonly text: string; readonly contentType: string };

export type Assets = {
  /** Paths below the base path. */
  readonly style: string;
  readonly script: string;
  /** What the script imports, to be fetched with it. */
  readonly modules: readonly string[];
  readonly find: (path: string) => Asset | undefined;
};

/** The style as it is written, one after the other: later rules win. */
const styleFolder = 'src/dashboard/assets/';
const styles = [
  'base',
  'frame',
  'surfaces',
  'standing',
  'times',
  'tables',
  'forms',
  'operations',
  'wide',
];
/** Where the build puts the script's modules, each after those that it imports. */
const scriptFolder = 'dist/src/dashboard/browser/';
const scriptModules = [
  'ago',
  'spoken',
  'times',
  'parts',
  'refresh',
  'forms',
  'connections',
  'shared',
  'stream',
  'live',
];

/** Throws where the build has not been made. */
export function loadAssets(): Assets {
  const rules = styles.map((name) => read(`${styleFolder}${name}.css`));
  const style = named('style', 'css', rules.join('\n'));
  const modules: ReturnType<typeof named>[] = [];
  for (const name of scriptModules) {
    // Its imports by the names that change with what is in them.
    const text = modules.reduce(
      (written, one) => written.replaceAll(`'./${one.name}.js'`, `'./${one.file}'`),
      read(`${scriptFolder}${name}.js`),
    );
    modules.push(named(name, 'js', text));
  }
  const byPath = new Map([style, ...modules].map(({ path, asset }) => [path, asset]));
  const paths = modules.map(({ path }) => path);
  return {
    style: style.path,
    script: paths.at(-1) ?? '',
    modules: paths.slice(0, -1),
    find: (path) => byPath.get(path),
  };
}

function read(file: string): string {
  return readFileSync(new URL(file, projectRoot), 'utf8').replace(/\n\/\/# source.*/, '');
}

const types = { css: 'text/css', js: 'text/javascript' } as const;

function named(name: string, extension: keyof typeof types, text: string) {
  const file = `${name}-${hash('sha1', text, 'hex').slice(0, 12)}.${extension}`;
  const asset: Asset = { text, contentType: `${types[extension]}; charset=utf-8` };
  return { name, file, path: `/assets/${file}`, asset };
}
