/** The folder of this installation, compiled or not. */
import { existsSync, readFileSync } from 'node:fs';

export const projectRoot: URL = findRoot(new URL('./', import.meta.url));

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('no folder above this file has a package.json');
  return findRoot(parent);
}

export function projectVersion(): string {
  const text = readFileSync(new URL('package.json', projectRoot), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}
