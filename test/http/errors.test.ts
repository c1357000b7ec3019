import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type ErrorCode, errors, refuse } from '../../src/http/pipeline/errors.ts';

// The type of the table guarantees that every key is a code.
const codes = Object.keys(errors) as ErrorCode[];

test('docs/integrate/errors.md lists exactly the existing codes with their statuses', async () => {
  const page = await readFile(new URL('../../docs/integrate/errors.md', import.meta.url), 'utf8');
  const section = /^## Codes$([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(page)?.[1] ?? '';
  const rows = [...section.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)];
  const documented = rows.map(([, code, status]) => `${code} ${status}`);
  expect(documented.sort()).toEqual(codes.map((code) => `${code} ${errors[code][0]}`).sort());
});

test.each(codes)('%s is answered with exactly code, message and status', (code) => {
  const { status, body } = refuse(code);
  expect(body).toEqual({ code, message: errors[code][1], status });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body.message).toMatch(/^[A-Z].*\.$/);
});

test('an error carries its custom message and headers', () => {
  expect(refuse('gone', 'It went.', { link: '<x>' })).toEqual({
    status: 410,
    body: { code: 'gone', message: 'It went.', status: 410 },
    headers: { link: '<x>' },
  });
});
