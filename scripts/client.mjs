/**
 * `npm run client`: writes packages/client/src/schema.ts from the OpenAPI document of this code. The generator needs the
 * API of an older TypeScript, so it has its own node_modules there.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../dist/src/config/config.js';
import { buildDocument } from '../dist/src/http/openapi/document.js';
import { routesOf } from '../dist/src/http/routes/every-route.js';
import { renderJson } from '../dist/src/net/json.js';

const folder = fileURLToPath(new URL('../packages/client/', import.meta.url));
const generator = join(folder, 'node_modules/openapi-typescript/bin/cli.js');
const target = join(folder, 'src/schema.ts');
const work = await mkdtemp(join(tmpdir(), 'signpost-client-'));

try {
  if (!existsSync(generator)) execFileSync('npm', ['ci'], { cwd: folder, stdio: 'inherit' });
  const document = join(work, 'openapi.json');
  const text = describe();
  await writeFile(document, text);
  execFileSync(
    'node',
    [generator, document, '--default-non-nullable', 'false', '--output', target],
    { stdio: 'inherit' },
  );
  const hash = createHash('sha256').update(text).digest('hex');
  const header = `// From the OpenAPI document with the SHA-256 ${hash}: npm run client\n`;
  await writeFile(target, header + (await readFile(target, 'utf8')));
} finally {
  await rm(work, { recursive: true });
}

/** As a service without BASE_URL answers it. Stores are only used when a route runs. */
function describe() {
  const { config } = loadConfig({});
  const routes = routesOf({ config, database: { prisma: {}, pool: {} } }, {});
  return renderJson(buildDocument(routes, config.api));
}
