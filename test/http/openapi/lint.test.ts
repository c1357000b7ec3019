import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noAccess } from '../../../src/core/access.ts';
import { everyRoute } from '../../support/every-route.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const redocly = join(root, 'node_modules/@redocly/cli/bin/cli.js');

type Verdict = {
  readonly totals: { readonly errors: number; readonly warnings: number; readonly ignored: number };
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signpost-openapi-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs `redocly lint`, which needs no network. */
async function lint(document: string): Promise<Verdict> {
  const file = join(folder, 'openapi.json');
  await writeFile(file, document);
  const args = ['lint', file, '--config', join(root, 'redocly.yaml'), '--format', 'json'];
  const child = spawn(process.execPath, [redocly, ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const start = output.indexOf('{');
  if (start < 0) throw new Error(`redocly said nothing:\n${output}${complaints}`);
  return JSON.parse(output.slice(start)) as Verdict;
}

async function served(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const route = everyRoute(env).find(({ path }) => path === '/openapi.json');
  const request = {
    params: {},
    query: {},
    headers: {},
    body: undefined,
    key: null,
    access: noAccess,
    requestId: '',
  };
  const prepared = route?.prepare(request);
  if (!prepared?.ok) throw new Error('there is no /openapi.json');
  return (await prepared.run()).text ?? '';
}

const environments = [
  ['as generated', {}],
  [
    'with the addresses of a real service',
    { BASE_URL: 'https://api.shop.test/store/v1', STAGING_URL: 'https://staging.shop.test/v1' },
  ],
] as const;

test.each(environments)('Redocly accepts the document %s', async (_name, env) => {
  const { totals, problems } = await lint(await served(env));
  expect(problems).toEqual([]);
  expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
});

test('Redocly reports a deliberately broken document', async () => {
  const document = await served();
  const broken = document
    .replace('"operationId":"createPet"', '"operationId":"listPets"')
    .replace('"#/components/schemas/Pets"', '"#/components/schemas/Nowhere"')
    .replace('"slug":"docs"', '"slug":7');
  const { problems } = await lint(broken);
  const rules = problems.map(({ ruleId }) => ruleId);
  expect(rules).toEqual(
    expect.arrayContaining([
      'operation-operationId-unique',
      'no-unresolved-refs',
      'no-invalid-media-type-examples',
    ]),
  );
});
