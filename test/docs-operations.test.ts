/** docs/operations.md is read at three in the morning: what it names must be there, and the waits must be the code's. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { queueNames } from '../src/core/operations/jobs.ts';
import { quarantine } from '../src/core/operations/quarantine.ts';
import { attemptWaitsMs } from '../src/core/operations/webhook-plan.ts';
import { repairKinds } from '../src/db/domains/waiting.ts';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/operations.md');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function part(heading: string, level = '## '): string {
  const parts = page.split(new RegExp(`^${level}`, 'm'));
  return parts.find((text) => text.startsWith(heading)) ?? '';
}

const sources = ['src', 'workers'].flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('generated'))
    .map((name) => read(`${folder}/${name}`)),
);
const isInSources = (text: string) => sources.some((source) => source.includes(text));

/** A text's words, however its lines are wrapped. */
const unwrapped = (text: string) => text.replace(/\s+/g, ' ');

/** What stands in backticks, cell by cell, line by line. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

const runbooks = part('Runbooks');

describe('the runbooks', () => {
  it.each([
    'A domain is stuck',
    'Redis is lost',
    'PostgreSQL was restored from yesterday',
    'A new key encryption key',
    'The certificate authority is down',
    'A certificate authority revokes certificates',
    "The authority's limit is reached",
    'A queue grows',
  ])('say of “%s” what one sees, what to do and what happens by itself', (title) => {
    const text = part(title, '### ');
    expect(text).toMatch(/^\*You see\* /m);
    expect(text).toMatch(/^1\. /m);
    expect(text).toMatch(/^\*By itself:\* /m);
  });

  it('name only requests that the API answers', () => {
    const api = read('docs/api.md'); // held to the routes by docs-match-code.test.ts
    const requests = quoted(runbooks).filter((code) => /^(GET|POST|DELETE) /.test(code));
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests) {
      const [, method = '', path = ''] = /^(\S+) (\S+?)(?:\?.*)?$/.exec(request) ?? [];
      expect(api, request).toContain(`${method} ${path.replace('/v1/projects/{projectId}', '…')}`);
    }
  });

  it('quote log lines, codes and fields as the code has them', () => {
    const foreign = [
      'docker compose',
      'npx signpost',
      'node bin/signpost.mjs',
      'redis-cli',
      'SELECT ',
      'LIMIT',
      'FLUSHALL',
      'pg_stat_activity',
    ];
    const named = quoted(runbooks)
      .filter((code) => !/^(GET|POST|DELETE) /.test(code))
      .filter((code) => !foreign.some((start) => code.startsWith(start)));
    expect(named.length).toBeGreaterThan(12);
    for (const code of named) {
      const words = /^[\w.]+$/.test(code) ? code.split('.') : [code];
      const found = isInSources(code) || words.every((word) => isInSources(word));
      expect(found || code === '<domain id>.<epoch>', code).toBe(true);
    }
  });
});

describe('the queues', () => {
  const text = part('The queues');

  it('are listed, and no other', () => {
    const rows = [...text.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    expect(rows).toEqual([...queueNames]);
  });

  it('are repaired in the ways that are listed, and no other', () => {
    const list =
      /\*\*What the reconciler repairs\*\*.*?\. The table/.exec(unwrapped(text))?.[0] ?? '';
    expect(quoted(list)).toEqual([...repairKinds]);
  });

  it('set a job aside for as long as they say', () => {
    expect(quarantine).toMatchObject({
      faultsMax: 10,
      takesSuspicious: 3,
      waitsMs: [5 * MINUTE, HOUR, 24 * HOUR],
    });
    expect(unwrapped(text)).toMatch(
      /ten faults in a row.*5 minutes the first time, an hour the second, then a day/,
    );
  });

  it('give a delivery up when they say', () => {
    const hours = attemptWaitsMs.reduce((sum, ms) => sum + ms, 0) / HOUR;
    expect(unwrapped(text)).toContain(`for ${hours.toFixed(1)} hours`);
  });
});
