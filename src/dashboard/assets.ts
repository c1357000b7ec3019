/** The style and the script of the pages, read once; their paths change with what is in them, so browsers keep them. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectRoot } from '../db/engine/migrate.ts';

/** A file as it is sent. `contentType`: with its charset. */
export type Asset = { readonly text: string; readonly contentType: string };

/** What pages load. Everything is in memory: nothing is read from the disk later. */
export type Assets = {
  /** A path below the base path, as are those that follow. It changes with the content. */
  readonly style: string;
  /** The module that a page starts. */
  readonly script: string;
  /** What the script imports, to be fetched with it. */
  readonly modules: readonly string[];
  /** The asset at a path below the base path; undefined where there is none, as for one of an earlier version. */
  readonly find: (path: string) => Asset | undefined;
};

/** The style as it is written, one after the other: later rules win. */
const styleFolder = 'src/dashboard/assets/';
const styles = ['base', 'frame', 'surfaces', 'summary', 'tables', 'forms', 'operations', 'wide'];
/** Where the build puts the script's modules, each after those that it imports. */
const scriptFolder = 'dist/src/dashboard/browser/';
const scriptModules = ['ago', 'times', 'forms', 'refresh', 'shared', 'live'];

/** Reads all assets once. Throws where the build has not been made. */
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

/** Without the line that names a source map: it is not served. */
function read(file: string): string {
  return readFileSync(new URL(file, projectRoot), 'utf8').replace(/\n\/\/# source.*/, '');
}

const types = { css: 'text/css', js: 'text/javascript' } as const;

/**
 * Named after the content, by 12 hex digits of its hash: what has changed has another path, so that browsers may keep
 * it.
 */
function named(name: string, extension: keyof typeof types, text: string) {
  const file = `${name}-${hash('sha1', text, 'hex').slice(0, 12)}.${extension}`;
  const asset: Asset = { text, contentType: `${types[extension]}; charset=utf-8` };
  return { name, file, path: `/assets/${file}`, asset };
}
