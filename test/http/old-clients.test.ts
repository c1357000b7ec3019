/**
 * A client of the version before lists had pages (recorded at cccfdeb) gets what it got: the same statuses, and every field
 * with the same value. Texts for people and random values are `<text>`.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningService, startApi } from '../support/service.ts';

type Recorded = {
  readonly method: string;
  /** With `{name}` for the ID of an earlier answer that was kept under that name. */
  readonly path: string;
  readonly body?: object;
  readonly keep?: string;
  readonly status: number;
  readonly answer: unknown;
};

const file = new URL('recorded-requests.json', import.meta.url);
const requests = JSON.parse(readFileSync(file, 'utf8')) as readonly Recorded[];
let service: RunningService;

beforeAll(async () => {
  service = await startApi();
});
afterAll(() => service.close());

function isUse(name: string, value: unknown): boolean {
  if (name === 'lastUsedAt') return value === null || typeof value === 'string';
  return name === 'deprecatedUses' && Array.isArray(value);
}

/** What an old client reads of an answer; it ignores fields that it does not know. */
function knownPart(answer: unknown, recorded: unknown): unknown {
  if (Array.isArray(recorded)) {
    if (!Array.isArray(answer)) return answer;
    return answer.map((item, at) => knownPart(item, recorded[at]));
  }
  if (typeof recorded === 'object' && recorded !== null) {
    const fields = answer as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      Object.entries(recorded).map(([name, value]) => [
        name,
        // Uses are written in the background, so the answer depends on how long the test has run.
        isUse(name, fields?.[name]) ? value : knownPart(fields?.[name], value),
      ]),
    );
  }
  return recorded === '<text>' && typeof answer === 'string' ? '<text>' : answer;
}

it('Recorded requests of an older client are answered as before', async () => {
  const ids = new Map<string, string>();
  const filled = (text: string) =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => ids.get(name) ?? whole);
  for (const { method, path, body, keep, status, answer } of requests) {
    const got = await service.client.call(method, filled(path), body);
    const line = `${method} ${path}`;
    expect([line, got.status]).toEqual([line, status]);
    expect(knownPart(got.body ?? null, answer), line).toEqual(answer);
    if (keep !== undefined) ids.set(keep, (got.body as { readonly id: string }).id);
  }
});
