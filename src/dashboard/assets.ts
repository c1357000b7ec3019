import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectRoot } from '../config/root-folder.ts';

/** `contentType` includes the charset. */
export type Asset = { readonly text: string; readonly contentType: string };

export type Assets = {
  /** A path below the base path, like the following ones. It changes with the content. */
  readonly style: string;
  readonly script: string;
  /** The script's imports, to preload. */
  readonly modules: readonly string[];
  /** Undefined for unknown paths, such as those of an earlier version. */
  readonly find: (path: string) => Asset | undefined;
};

/** In order: later rules win. */
const styleFolder = 'src/dashboard/assets/';
const styles = [
  'tokens',
  'base',
  'frame',
  'controls',
  'cards',
  'task',
  'changes',
  'facts',
  'lists',
  'choices',
  'forms',
  'tables',
  'operations',
  'empty',
  'phone',
  'comfort',
];
/** Each after its imports. */
const scriptFolder = 'dist/src/dashboard/browser/';
const scriptModules = ['ago', 'times', 'forms', 'refresh', 'live'];

export function loadAssets(): Assets {
  const rules = styles.map((name) => read(`${styleFolder}${name}.css`));
  const style = named('style', 'css', rules.join('\n'));
  const modules: ReturnType<typeof named>[] = [];
  for (const name of scriptModules) {
    // Imports use the hashed names.
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

/** Source maps are not served. */
function read(file: string): string {
  return readFileSync(new URL(file, projectRoot), 'utf8').replace(/\n\/\/# source.*/, '');
}

const types = { css: 'text/css', js: 'text/javascript' } as const;

/** The content hash in the name lets browsers cache the file forever. */
function named(name: string, extension: keyof typeof types, text: string) {
  const file = `${name}-${hash('sha1', text, 'hex').slice(0, 12)}.${extension}`;
  const asset: Asset = { text, contentType: `${types[extension]}; charset=utf-8` };
  return { name, file, path: `/assets/${file}`, asset };
}
