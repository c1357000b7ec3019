import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { authorityLimits, refillMs } from '../src/core/certificates/budget.ts';
import { orderWaitsMs } from '../src/core/certificates/order-waits.ts';
import { renewAt, renewal } from '../src/core/certificates/renewal.ts';
import { caaHintWords } from '../src/core/diagnosis/caa/caa.ts';
import { explain } from '../src/core/diagnosis/findings.ts';
import { hintWords } from '../src/core/diagnosis/hints.ts';
import { VERIFY_WINDOW_MS } from '../src/core/life/ladder.ts';
import { type DomainState, type Occurrence, transition } from '../src/core/life/lifecycle.ts';
import type { ProofSeen } from '../src/core/names/proof.ts';
import { REDIRECTS_MAX, redirectStatuses } from '../src/core/names/redirects.ts';
import { MINUTE } from '../src/core/time.ts';
import { docsDomain } from '../src/http/schemas/examples.ts';
import { later, noon } from './support/builders.ts';

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

describe('The documentation', () => {
  const findings = file('docs/understand/findings.md');

  it('lists exactly the existing hints', () => {
    const [, hints = ''] = /^# Hints\n([\s\S]*?)^# /m.exec(findings) ?? [];
    same(firstCells(hints), [...Object.keys(hintWords), ...Object.keys(caaHintWords)]);
  });

  it('shows a finding with its real text', () => {
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

  it('draws exactly the existing state transitions', () => {
    const long = later(noon, -VERIFY_WINDOW_MS);
    const states: readonly DomainState[] = [
      { status: 'pending', pendingSince: noon },
      { status: 'pending', pendingSince: long },
      { status: 'verified', verifiedAt: noon },
      { status: 'live', missedAt: null },
      { status: 'live', missedAt: long },
      { status: 'drifted', driftedAt: noon },
      { status: 'failed', failedAt: noon },
    ];
    const occurrences: readonly Occurrence[] = [
      ...(['right', 'wrong', 'unknown'] as const).map(
        (verdict) =>
          ({ kind: 'checked', verdict, windowMs: VERIFY_WINDOW_MS, timeScale: 1 }) as const,
      ),
      { kind: 'certificate_stored' },
      { kind: 'certificate_ended' },
      { kind: 'verify_requested' },
      { kind: 'claimed_elsewhere' },
    ];
    const ways = states.flatMap((state) =>
      occurrences.flatMap((occurrence) => {
        const step = transition(state, occurrence, noon);
        return step.kind === 'moved' ? [`${state.status} --> ${step.to.status}`] : [];
      }),
    );
    same(file('docs/understand/life-of-a-domain.md').match(/\b\w+ --> \w+/g) ?? [], ways);
  });

  it('lists exactly the existing states', () => {
    const page = file('docs/understand/life-of-a-domain.md');
    const lifecycle = file('src/core/life/lifecycle.ts');
    const states = [...lifecycle.matchAll(/readonly status: '(\w+)'/g)].map(
      ([, name = '']) => name,
    );
    same(firstCells(section(page, 'States')), states);
  });

  it('states the order in which domain settings are rejected, and the statuses', () => {
    const api = file('docs/integrate/projects.md');
    const text = api.slice(api.indexOf('## Domain settings')).replace(/\s+/g, ' ');
    const [, order = ''] = /refused in this order[^:]*: ([^.]+)\./.exec(text) ?? [];
    const named = [...order.matchAll(/`(\w+)`/g)].map(([, code = '']) => code);
    const source = file('src/core/names/redirects.ts');
    const union = /SettingsRefusalCode =([^;]+);/.exec(source)?.[1] ?? '';
    const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code);
    expect(named).toEqual(codes);
    const statuses = `${redirectStatuses.slice(0, -1).join(', ')} or ${redirectStatuses.at(-1)}`;
    expect(text).toContain(`\`status\` is ${statuses}.`);
    expect(text).toContain(`\`too_many_redirects\` (${REDIRECTS_MAX})`);
  });

  it('lists the possible evidence of a verified name', () => {
    const text = section(findings, 'held_elsewhere\n');
    const seen = ['missing', 'both', 'partial', 'unknown'] satisfies readonly ProofSeen[];
    for (const one of seen) expect(text).toContain(`\`${one}\``);
  });

  it('states when certificates are renewed', () => {
    const DAY = 24 * 60 * MINUTE;
    const daysUntil = (days: number, jitter: number) => {
      const life = { issuedAt: noon, expiresAt: new Date(noon.getTime() + days * DAY) };
      return Number(((Number(renewAt(life, jitter)) - Number(noon)) / DAY).toFixed(3));
    };
    const text = section(file('docs/understand/certificates.md'), 'Renewals');
    const rows = [...text.matchAll(/^\| (\d+) days \| ([\d.]+) to ([\d.]+) days \|$/gm)];
    expect(rows.length).toBe(3);
    for (const [, days, first, last] of rows) {
      const planned = [daysUntil(Number(days), 1), daysUntil(Number(days), 0)];
      expect([days, Number(first), Number(last)]).toEqual([days, ...planned]);
    }
    expect(text).toContain(`up to ${100 * renewal.spreadShare} % of its life earlier`);
    expect(text).toContain(`tried again after ${renewal.checkAgainMs / (60 * MINUTE)} h`);
  });

  it('states the attempts for a certificate', () => {
    const times = orderWaitsMs.map((_, index) =>
      orderWaitsMs.slice(0, index + 1).reduce((sum, wait) => sum + wait / MINUTE, 0),
    );
    const [first, second, third] = times;
    const after = `after ${first}, ${second} and ${third} minutes, then daily`;
    expect(file('docs/understand/certificates.md')).toContain(
      `Tries at 0, ${first}, ${second} and ${third} minutes, then daily`,
    );
    expect(file('docs/run/runbooks.md')).toContain(after);
    expect(file('docs/decisions/0016-second-authority.md')).toContain(
      `(0, ${times.join(', ')} minutes, daily)`,
    );
  });

  it.each(['account_share', 'project_share'] as const)('states what %s counts', (limit) => {
    const minutes = Math.round(refillMs(limit) / MINUTE);
    const counts = `one order for ${minutes} minutes, at most ${authorityLimits[limit].tokens}.`;
    expect(file('docs/decisions/0015-budget.md')).toContain(counts);
  });
});
