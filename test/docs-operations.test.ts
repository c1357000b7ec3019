/** On-call operators rely on these pages: every name and wait must match the code. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { durationInWords } from '../src/core/diagnosis/shows.ts';
import { quarantine } from '../src/core/operations/quarantine.ts';
import {
  DELIVERIES_KEPT_MS,
  DELIVERY_TIMEOUT_MS,
  deliveryWaitsMs,
} from '../src/core/operations/webhook-plan.ts';
import { PROJECT_ERASED_MS } from '../src/core/records.ts';
import { HOUR, MINUTE, SECOND } from '../src/core/time.ts';
import { repairKinds } from '../src/db/domains/waiting.ts';
import { buildDocument, documentPath } from '../src/http/openapi/document.ts';
import { deliveriesInFlight } from '../workers/deliver-webhook.ts';
import { workTimes } from '../workers/running/work-times.ts';
import { everyRoute } from './support/every-route.ts';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const runbooks = read('docs/run/runbooks.md');

/** The sections of a page, each with its heading. */
const sectionsOf = (page: string) => page.split(/^## /m).slice(1);

const sources = ['src', 'workers'].flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.includes('generated'))
    .map((name) => read(`${folder}/${name}`)),
);
const isInSources = (text: string) => sources.some((source) => source.includes(text));

/** A text without its line breaks. */
const unwrapped = (text: string) => text.replace(/\s+/g, ' ');

/** What is in backticks, cell by cell, line by line. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

describe('The runbooks', () => {
  const named = sectionsOf(runbooks).filter((text) => !/^(Redis|A key)/.test(text));

  it.each(named.map((text) => [text.split('\n', 1)[0], text]))(
    'have meaning, ordered steps and automatic behavior: %s',
    (_title, text) => {
      expect(text).toMatch(/^\*\*(Means|You see):\*\* /m);
      expect(text).toMatch(/^(1\. |\| cause)/m);
      expect(text).toMatch(/^\*\*Automatic:\*\* /m);
    },
  );

  it('name only existing API requests', () => {
    const addresses = { baseUrl: undefined, stagingUrl: undefined };
    const { paths } = buildDocument(everyRoute(), addresses);
    const requests = quoted(runbooks).filter((code) => /^(GET|POST|DELETE) /.test(code));
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests) {
      const [, method = '', path = ''] = /^(\S+) (\S+?)(?:\?.*)?$/.exec(request) ?? [];
      const whole = documentPath(path.replace('…', '/v1/projects/{projectId}'));
      expect(paths, request).toHaveProperty([whole, method.toLowerCase()]);
    }
  });

  it('quote log lines, codes and fields from the code', () => {
    const foreign = [
      'docker compose',
      'node bin/signpost.mjs',
      'redis-cli',
      'SELECT ',
      'LIMIT',
      'FLUSHALL',
      'pg_stat_activity',
      'maxmemory-policy',
      'noeviction',
      'DNS_AUTHORITATIVE=',
      'EDGE_PROBE=',
      'signpost_dns_questions_total{',
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

describe('The documentation of the queues', () => {
  const text = read('docs/understand/queues.md');

  it('lists exactly the existing repairs', () => {
    const list = /\*\*The reconciler repairs\*\*.*?\. The table/.exec(unwrapped(text))?.[0] ?? '';
    expect(quoted(list)).toEqual([...repairKinds]);
  });

  it('states the quarantine time of a job', () => {
    expect(quarantine).toMatchObject({
      faultsMax: 10,
      takesSuspicious: 3,
      waitsMs: [5 * MINUTE, HOUR, 24 * HOUR],
    });
    expect(unwrapped(text)).toMatch(
      /ten faults in a row.*5 minutes the first time, an hour the second, then a day/,
    );
  });

  it('states when a delivery is abandoned', () => {
    const hours = deliveryWaitsMs.reduce((sum, ms) => sum + ms, 0) / HOUR;
    expect(unwrapped(text)).toContain(`for ${hours.toFixed(1)} hours`);
    const waits = deliveryWaitsMs.map((ms) => durationInWords(ms / 1_000));
    const [last = '', ...others] = waits.toReversed();
    expect(read('docs/integrate/webhooks.md')).toContain(
      `is retried after ${others.toReversed().join(', ')} and ${last} (±10 %): ${waits.length + 1} attempts`,
    );
  });

  it('states how often the sweeps run', () => {
    const { 'recheck-live': recheck, 'renew-certificate': renew } = workTimes({
      timeScale: 1,
    }).sweepEveryMs;
    expect(renew).toBe(MINUTE);
    expect(text).toContain(
      `\`recheck-live\` runs every ${recheck / 1_000} s, \`renew-certificate\` every minute`,
    );
    expect(read('docs/understand/life-of-a-domain.md')).toContain(
      `\`recheck-live\` runs every ${recheck / 1_000} s`,
    );
  });

  it('states how long a receiver has, and how many messages are in flight', () => {
    const page = read('docs/integrate/webhooks.md');
    const seconds = DELIVERY_TIMEOUT_MS / SECOND;
    expect(page).toContain(`any 2xx within ${seconds} seconds`);
    const { host, project, account } = deliveriesInFlight;
    expect(page).toContain(
      `${host} messages of an account are in flight to one host, ${project} of a project and ${account} of an account`,
    );
  });

  it('states how long deliveries are kept', () => {
    const days = DELIVERIES_KEPT_MS / (24 * HOUR);
    expect(read('docs/integrate/webhooks.md')).toContain(`kept for ${days} days`);
  });

  it('states when a deleted project is erased', () => {
    const days = PROJECT_ERASED_MS / (24 * HOUR);
    expect(read('docs/integrate/projects.md')).toContain(`its domains for ${days} days`);
  });
});

describe('The pages for operators', () => {
  const folder = 'docs/run/';
  const pages = readdirSync(new URL(folder, root)).filter((name) => name.endsWith('.md'));

  it.each(pages)('quote messages from the code: %s', (name) => {
    const texts = quoted(read(folder + name).replace(/^```[\s\S]*?^```$/gm, ''));
    const messages = texts.filter((text) => /^[A-Za-z][\w’;,.-]*( [\w’;,.-]+){3,}$/.test(text));
    const ours = messages.filter(
      (text) => !/^(docker|npx|redis-cli|openssl|npm|caddy|SELECT|UPDATE|DELETE) /.test(text),
    );
    for (const message of ours) expect(isInSources(message), message).toBe(true);
  });
});
