/** Where the project lies, from its sources as well as from `dist/`. */
import { existsSync } from 'node:fs';

/** The folder of package.json; ends with a slash. */
export const projectRoot: URL = findRoot(new URL('./', import.meta.url));

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('package.json is in no folder above this file');
  return findRoot(parent);
}
