/** The folder of this installation, compiled or not. */
import { existsSync, readFileSync } from 'node:fs';

export const projectRoot: URL = findRoot(new URL('./', import.meta.url));

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('no folder above this file has a package.json');
  return findRoot(parent);
}

/** With the commit that was compiled, where set-up could tell: `0.2.0+1a2b3c4`. */
export function buildVersion(): string {
  const file = new URL('dist/commit', projectRoot);
  const commit = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return commit === '' ? projectVersion() : `${projectVersion()}+${commit}`;
}

export function projectVersion(): string {
  const text = readFileSync(new URL('package.json', projectRoot), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}
