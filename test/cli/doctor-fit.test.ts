import { describe, expect, it, test } from 'vitest';
import { renderReport } from '../../src/cli/doctor/render.ts';
import { createPaint, wantsColor } from '../../src/cli/layout.ts';
import type { Report } from '../../src/cli/shown.ts';
import { report, target } from './doctor-reports.ts';
import { samples } from './doctor-samples.ts';

const page = (one: Report, columns = 80) =>
  renderReport(one, { columns, paint: createPaint(false) });

describe('A page of signpost doctor', () => {
  test.each([60, 80, 100])('fits %i columns', (columns) => {
    for (const [what, one] of samples) {
      const tooLong = page(one, columns)
        .split('\n')
        .filter((line) => [...line].length > columns && !line.includes(`${target}  3600`));
      expect(tooLong, what).toEqual([]);
    }
  });

  it('never truncates the record or its value, because people copy them', () => {
    const value = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`;
    const long = report({ record: { type: 'CNAME', name: 'docs', value, ttl: 3_600n } });
    expect(page(long)).toContain(`  add  CNAME  docs  ${value}  3600\n`);
  });
});

/** Text that a zone owner or a resolver error can contain. */
const hostile = [
  '\u001b[2J\u001b[31mred',
  '\u009b31mred',
  'a\r\nsignpost: all is well',
  '\u202egnp.evil\u2066',
  '\u0000\u0007\u007f\u0085\u2028\u2029',
  '\u001b]8;;http://evil.example\u0007click',
  'x'.repeat(3_000),
];

/** Replaces every foreign text of a diagnosis. */
function poisoned(value: unknown, text: string): unknown {
  if (Array.isArray(value)) return value.map((part) => poisoned(part, text));
  if (typeof value === 'string') return text;
  if (typeof value !== 'object' || value === null) return value;
  const ours = [
    'verdict',
    'kind',
    'state',
    'view',
    'whyRecursive',
    'severity',
    'actor',
    'type',
    'verb',
  ];
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      ours.includes(name) ? part : poisoned(part, text),
    ]),
  );
}

test.each(hostile)('Foreign text cannot control the terminal: %j', (text) => {
  for (const [what, one] of samples) {
    const evil = poisoned(one, text) as Report; // of the same shape
    const plain = page(evil);
    expect(plain, what).not.toMatch(/[^\n\P{C}]|[\p{Zl}\p{Zp}]/u);
    const colored = renderReport(evil, { columns: 80, paint: createPaint(true) });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors of the page
    expect(colored.replace(/\u001b\[(?:1|2|22|3[1-4]|39)m/g, ''), what).toBe(plain);
  }
});

describe('Terminal color', () => {
  it('only repeats what signs and words say', () => {
    const colored = renderReport(report(), { columns: 80, paint: createPaint(true) });
    expect(colored).toContain('\u001b[31m✗ \u001b[1mdocs.shop.test is not set up correctly');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal color sequences
    expect(colored.replace(/\u001b\[\d+m/g, '')).toBe(page(report()));
  });

  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
  ])('with %j on a terminal: %s → %s', (env, isScreen, wanted) => {
    expect(wantsColor(env, isScreen)).toBe(wanted);
  });
});
