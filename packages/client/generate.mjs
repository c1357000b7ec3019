/**
 * Writes src/schema.ts from the OpenAPI document of this checkout's compiled code. Part of `scripts/setup.mjs`. It stands
 * here because the generator needs the API of an older TypeScript, which only this package installs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTypes, { astToString } from 'openapi-typescript';
import { loadConfig } from '../../dist/src/config/config.js';
import { buildDocument } from '../../dist/src/http/openapi/document.js';
import { routesOf } from '../../dist/src/http/routes/every-route.js';
import { renderJson } from '../../dist/src/net/json.js';

const target = new URL('src/schema.ts', import.meta.url);

/** As a service without BASE_URL answers it. Stores are only used when a route runs. */
function describe() {
  const { config } = loadConfig({});
  const routes = routesOf({ config, database: { prisma: {}, pool: {} } }, {});
  return renderJson(buildDocument(routes, config.api));
}

const types = await openapiTypes(describe(), { defaultNonNullable: false });
const text = `// Generated from the OpenAPI document.\n${astToString(types)}`;
// An unchanged file keeps its time: editors and watchers need not read it again.
if (text !== existing()) writeFileSync(target, text);

function existing() {
  try {
    return readFileSync(target, 'utf8');
  } catch {
    return undefined;
  }
}
