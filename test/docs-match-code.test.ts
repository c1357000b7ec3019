/** What the documents list is what the code has: in both directions. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { variableNames } from '../src/config.ts';
import { attemptWaitsMs } from '../src/core/certificate-plan.ts';
import { explain } from '../src/core/diagnosis/explain.ts';
import { extendedErrorWords } from '../src/core/diagnosis/extended-errors.ts';
import { actors, type FindingCode, severities } from '../src/core/diagnosis/findings.ts';
import { providerNamed } from '../src/core/diagnosis/providers.ts';
import { caaHintWords, hintWords } from '../src/core/diagnosis/words-hints.ts';
import { nextActions } from '../src/core/escalation.ts';
import { nextWaitMs, VERIFY_WINDOW_MS } from '../src/core/ladder.ts';
import { docsDomain } from '../src/http/schemas/domain-examples.ts';
import { noon } from './support/builders.ts';

const MINUTE = 60_000;
const root = new URL('../', import.meta.url);
const file = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** The first cells in backquotes of a document's table rows. */
function firstCells(text: string): string[] {
  return [...text.matchAll(/^\| ((?:`[^`]+`(?:, )?)+)/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
}

function section(text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
}

const same = (listed: readonly string[], had: readonly string[]) =>
  expect([...listed].sort()).toEqual([...new Set(had)].sort());

describe('the documents', () => {
  const findings = file('docs/findings.md');
  const headings = (level: string) =>
    [...findings.matchAll(new RegExp(`^${level} (.+)$`, 'gm'))].map(([, code = '']) => code);

  it('list every finding, and no other', () => {
    same(headings('##'), Object.keys(severities));
    expect(headings('##')).toHaveLength(Object.keys(severities).length);
  });

  it.each(Object.keys(severities) as FindingCode[])(
    'say of %s how grave it is, who acts, what it means and how it is repaired',
    (code) => {
      const text = section(findings, `${code}\n`);
      expect(text.split('\n')[1]?.toLowerCase().replaceAll(' ', '_')).toMatch(
        new RegExp(`^\\*\\*${severities[code]}_·_${actors[code]}\\b`),
      );
      const parts = [...text.matchAll(/^- \*(\w+):\*/gm)].map(([, part = '']) => part);
      expect(parts).toEqual(['Meaning', 'Evidence', 'Repair', 'RFC']);
    },
  );

  it('list every hint, and no other', () => {
    same(headings('###'), [...Object.keys(hintWords), ...Object.keys(caaHintWords)]);
  });

  it('have the words of every extended error', () => {
    const rows = [...findings.matchAll(/^\| (\d+) \| (.+) \|$/gm)];
    expect(rows.map(([, code, words]) => `${code} ${words}`)).toEqual(
      extendedErrorWords.map((words, code) => `${code} ${words}`),
    );
  });

  it('name no provider otherwise than the code does', () => {
    const apexOf = (row: string) => (row.match(/flatten|ALIAS|ANAME|none/) ?? [''])[0];
    const rows = section(findings, 'record_missing\n').match(/^\| [A-Z].*$/gm) ?? [];
    const named = rows.flatMap((row) =>
      (row.split('|')[1] ?? '').split(', ').map((name) => [name.trim(), apexOf(row)] as const),
    );
    expect(named.length).toBeGreaterThan(10);
    for (const [name, apex] of named) {
      const had = providerNamed(name)?.apex;
      expect([name, had === null ? 'none' : had?.replace('CNAME flattening', 'flatten')]).toEqual([
        name,
        apex,
      ]);
    }
  });

  it('show a finding as it is worded', () => {
    const [shown] = docsDomain.findings;
    const target = docsDomain.record.value;
    const hints = [{ code: 'doubled_name', name: 'docs.example.com.example.com' }] as const;
    expect(shown).toEqual(
      explain({
        code: 'record_missing',
        hostname: docsDomain.hostname,
        target,
        seen: 'nxdomain',
        hints,
      }),
    );
  });

  it('list every state, event and cause, and no other', () => {
    const page = file('docs/lifecycle.md');
    const lifecycle = file('src/core/lifecycle.ts');
    const states = [...lifecycle.matchAll(/readonly status: '(\w+)'/g)].map(
      ([, name = '']) => name,
    );
    same(firstCells(section(page, 'States')), states);
    const sources = [
      'src/core/lifecycle.ts',
      'src/core/findings-changed.ts',
      'src/db/events.ts',
    ].map(file);
    const events = [...sources.join().matchAll(/'((?:domain|certificate|escalation)\.\w+)'/g)];
    same(
      firstCells(section(page, 'Events')),
      events.map(([, name = '']) => name),
    );
    same(firstCells(section(page, 'Certificates')), Object.keys(nextActions));
  });

  it('list every variable, and no other', () => {
    same(firstCells(section(file('docs/operations.md'), 'Variables')), variableNames);
  });

  it('name every path of the API', () => {
    const api = file('docs/api.md');
    const folder = 'src/http/routes/';
    const routes = readdirSync(new URL(folder, root)).map((name) => file(folder + name));
    const paths = [...routes.join().matchAll(/'(\/v1\/[^']*|\/\w+z)'/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) {
      const asWritten = path
        .replace(/:(\w+)/g, '{$1}')
        .replace('/v1/projects/{projectId}/domains/{hostname}', '…/domains/{hostname}');
      expect(api).toContain(asWritten);
    }
  });

  const steps: readonly (readonly [number, number, string])[] = [
    [5, 15_000, '| 0 to 5 min | 15 s |'],
    [10, 30_000, '| 10 min | 30 s |'],
    [30, 90_000, '| 30 min | 90 s |'],
    [60, 180_000, '| 1 h | 3 min |'],
    [100, 300_000, '| 100 min and more | 5 min |'],
  ];
  it.each(steps)('show the ladder’s step after %d min: %d ms', (minutes, waitMs, row) => {
    const now = new Date(noon.getTime() + minutes * MINUTE);
    const wait = nextWaitMs({
      pendingSince: noon,
      now,
      windowMs: VERIFY_WINDOW_MS,
      eager: false,
      jitter: 0.5,
    });
    expect(wait).toBe(waitMs);
    expect(file('docs/lifecycle.md')).toContain(row);
  });

  it('show the tries for a certificate', () => {
    const times = attemptWaitsMs.map((_, index) =>
      attemptWaitsMs.slice(0, index + 1).reduce((sum, wait) => sum + wait / MINUTE, 0),
    );
    expect(times).toEqual([1, 11, 100]);
    expect(file('docs/lifecycle.md')).toContain('Tries at 0, 1, 11 and 100 minutes, then daily');
  });
});
