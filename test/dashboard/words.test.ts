import { expect, test } from 'vitest';
import { ago, exactly } from '../../src/dashboard/browser/ago.ts';
import { slugFrom } from '../../src/dashboard/pages/projects.ts';
import { attribute, html } from '../../src/net/html.ts';

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

test.each([
  [-400, 'just now'],
  [-3 * second, '3 s ago'],
  [-59 * second, '59 s ago'],
  [-90 * second, '1 min ago'],
  [-47 * hour, '47 h ago'],
  [-3 * day, '3 days ago'],
  [400, 'just now'],
  [12 * second, 'in 12 s'],
  [5 * minute, 'in 5 min'],
  [89 * day, 'in 89 days'],
  [200 * day, 'in 6 months'],
  [1_825 * day, 'in 5 years'],
])('%i ms from now reads %s', (ms, words) => {
  expect(ago(1_000_000 * day + ms, 1_000_000 * day, false)).toBe(words);
});

test('A future time that has passed reads “any moment”', () => {
  expect(ago(5, 10, true)).toBe('any moment now');
  expect(ago(10 + 3 * second, 10, true)).toBe('in 3 s');
  expect(ago(400, 10, true)).toBe('in a moment');
});

test('An exact time is in UTC, to the second', () => {
  expect(exactly('2026-11-20T00:03:04.999Z')).toBe('Nov 20, 2026, 00:03:04 UTC');
});

test.each([
  ['Café du Nord!', 'cafe-du-nord'],
  ['  The -- Shop 24 ', 'the-shop-24'],
  [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
  ['日本', ''],
])('%j becomes %j in addresses', (name, slug) => {
  expect(slugFrom(name)).toBe(slug);
});

test('An attribute is always escaped', () => {
  expect(
    html`<p${attribute('title', '"><b>')}${attribute('hidden', true)}${attribute('id', null)}>`
      .html,
  ).toBe('<p title="&quot;&gt;&lt;b&gt;" hidden>');
});
