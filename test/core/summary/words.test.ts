import { describe, expect, it, test } from 'vitest';
import { summaryLine, summaryOf } from '../../../src/core/life/summary/summary.ts';
import type { SummaryInput } from '../../../src/core/life/summary/summary-types.ts';
import { noon } from '../../support/builders.ts';
import {
  absent,
  add,
  addDone,
  caa,
  disagree,
  drifted,
  failed,
  halfway,
  https,
  issueCaa,
  live,
  ourCaa,
  pending,
  refused,
  remove,
  soon,
  unregistered,
  verified,
} from './support.ts';

describe('the text', () => {
  const textOf = (input: SummaryInput) => summaryOf(input, noon).text;

  it('says what is wrong until a change is on its way, then what is left', () => {
    expect(textOf({ ...pending, changes: [remove, add] })).toBe(absent);
    expect(textOf({ ...pending, changes: [halfway(remove), add] })).toBe(
      '1 of 2 changes left: add the CNAME record. The A record is already going away.',
    );
    expect(textOf({ ...pending, findings: [caa], changes: [addDone, issueCaa] })).toBe(
      '1 of 2 changes left: add the CAA record.',
    );
  });

  it('counts the name servers that have every change', () => {
    const input = { ...pending, findings: [disagree], changes: [halfway(remove), halfway(add)] };
    expect(textOf(input)).toBe(
      '1 of 2 name servers has every change. The other one usually follows within minutes.',
    );
  });

  it('counts resolvers where those were queried', () => {
    const changes = [halfway(remove), halfway(add)];
    expect(textOf({ ...pending, view: 'recursive', findings: [disagree], changes })).toBe(
      '1 of 2 resolvers has every change. The other one usually follows within minutes.',
    );
  });

  it('names a record that should go beside a right one', () => {
    expect(textOf({ ...verified, changes: [addDone, https] })).toBe(
      'Usually takes about 2 minutes. Also delete the HTTPS record.',
    );
  });

  it('says after a failure who has to fix it', () => {
    expect(textOf(failed)).toContain('Fix it, then start again.');
    expect(textOf({ ...failed, findings: [ourCaa] })).toContain('We have to fix it.');
    expect(textOf({ ...failed, findings: [disagree] })).toContain('Start again once your DNS');
  });

  it('names the end of what still works', () => {
    expect(textOf(drifted)).toBe(
      `${absent} Visitors who still arrive are served until Feb 18, 2027.`,
    );
    expect(textOf({ ...live, findings: [caa] })).toMatch(
      /The certificate lasts until Feb 18, 2027\.$/,
    );
  });

  it('has the reason of a refusal', () => {
    expect(textOf({ ...verified, certificate: refused })).toBe('The CA refused it. Wait.');
  });

  it('names the configured window', () => {
    const of = (windowMs: number) =>
      summaryOf({ ...failed, windowMs, nextCheckAt: null }, noon).headline;
    expect(of(3_600_000)).toBe('We stopped checking after 1 hour');
    expect(of(5_400_000)).toBe('We stopped checking after 90 minutes');
    expect(of(20_000)).toBe('We stopped checking after 20 seconds');
  });
});

test.each<readonly [SummaryInput, string]>([
  [pending, 'Add 1 record at GoDaddy'],
  [{ ...pending, changes: [remove, add] }, '2 changes at GoDaddy'],
  [{ ...pending, changes: [halfway(remove), add] }, 'Add 1 record at GoDaddy'],
  [{ ...pending, provider: null }, 'Add 1 record at your DNS provider'],
  [{ ...pending, findings: [disagree], changes: [halfway(add)] }, '1 of 2 name servers updated'],
  [{ ...pending, findings: [unregistered] }, 'Do this at your registrar'],
  [verified, 'Getting the certificate'],
  [live, 'Live'],
])('a list says it briefly: %#', (input, brief) => {
  expect(summaryOf(input, noon).brief).toBe(brief);
});

describe('what happens next', () => {
  const nextOf = (input: SummaryInput) => {
    const { next, nextAt } = summaryOf(input, noon);
    return [next, nextAt];
  };
  const first = { ...pending, lastCheckedAt: null };
  const again = { ...verified, certificate: refused };

  test.each<readonly [string, SummaryInput, readonly [string, Date | null]]>([
    ['the first check', first, ['The first check is', soon]],
    ['a check in progress', { ...pending, nextCheckAt: noon }, ['Checking now…', null]],
    ['the next check', pending, ['The next check is', soon]],
    ['the second check', { ...live, missedAt: noon }, ['The second check is', soon]],
    ['an order in progress', verified, ['The certificate is being obtained.', null]],
    ['the next order', again, ['The next attempt is', soon]],
    ['nothing for a removed domain', { ...live, status: 'removed' }, ['', null]],
    ['nothing after the last check', { ...failed, nextCheckAt: null }, ['', null]],
  ])('is %s', (_, input, expected) => {
    expect(nextOf(input)).toEqual(expected);
  });

  it('is one line with an exact time', () => {
    expect(summaryLine(summaryOf(pending, noon))).toBe(
      `Do this at GoDaddy. ${absent} The next check is on 2026-11-20 at 12:00:16 UTC.`,
    );
    expect(summaryLine(summaryOf({ ...pending, nextCheckAt: noon }, noon))).toBe(
      `Do this at GoDaddy. ${absent} Checking now…`,
    );
    expect(summaryLine(summaryOf({ ...live, status: 'removed' }, noon))).toMatch(
      /stays the same\.$/,
    );
  });
});
