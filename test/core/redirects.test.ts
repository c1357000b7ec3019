/** Which domain settings are accepted: a redirect leads to a final domain of the same project. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkSettings,
  type DomainSettings,
  isInUse,
  type Redirect,
  redirectStatuses,
  usesOf,
} from '../../src/core/names/redirects.ts';

const hosts = ['a', 'b', 'c', 'd'];
const project = new Set(hosts);

const entry = (text: string, status = 301): Redirect => {
  const [from = '', to = ''] = text.split('>');
  return { from, to, status };
};
const settings = (primary: string | null, ...redirects: readonly string[]): DomainSettings => ({
  primary,
  redirects: redirects.map((one) => entry(one)),
});
const withStatus = (status: number): DomainSettings => ({
  primary: null,
  redirects: [entry('a>b', status)],
});

describe('domain settings are accepted:', () => {
  it.each<[string, DomainSettings]>([
    ['none at all', settings(null)],
    ['only a primary domain', settings('a')],
    ['a redirect without a primary domain', settings(null, 'a>b')],
    ['several to the primary domain', settings('a', 'b>a', 'c>a', 'd>a')],
    ['two to different domains', settings('a', 'b>a', 'c>d')],
    ...redirectStatuses.map((status): [string, DomainSettings] => [
      `status ${status}`,
      withStatus(status),
    ]),
    ['the maximum number', { primary: null, redirects: fan(100) }],
  ])('%s', (_title, given) => {
    expect(
      checkSettings(given, new Set([...project, ...fan(100).map(({ from }) => from)])),
    ).toBeNull();
  });
});

describe('domain settings are refused:', () => {
  it.each<[string, DomainSettings, string]>([
    [
      'too_many_redirects',
      { primary: null, redirects: fan(101) },
      'domains.redirects: 101 redirects',
    ],
    ...[300, 303, 304, 200, 404, 100, 599].map((status): [string, DomainSettings, string] => [
      'redirect_status',
      withStatus(status),
      `domains.redirects[0].status: ${status} is not a redirect status; use one of 301, 302, 307, 308.`,
    ]),
    ['settings_unknown_host', settings('x'), 'domains.primary: “x”'],
    ['settings_unknown_host', settings(null, 'x>a'), 'domains.redirects[0]: “x”'],
    ['settings_unknown_host', settings(null, 'a>b', 'c>x'), 'domains.redirects[1]: “x”'],
    ['redirect_to_itself', settings(null, 'a>b', 'c>c'), 'domains.redirects[1]: c '],
    ['redirect_twice', settings(null, 'a>b', 'c>b', 'a>d'), 'domains.redirects[2]: a '],
    ['redirect_twice', settings(null, 'a>b', 'a>b'), 'domains.redirects[1]: a '],
    [
      'primary_redirects',
      settings('a', 'b>c', 'a>c'),
      'domains.redirects[1]: a cannot be the primary domain',
    ],
    ['redirect_loop', settings(null, 'a>b', 'b>a'), 'domains.redirects[0]: a → b → a'],
    ['redirect_loop', settings(null, 'a>b', 'b>c', 'c>a'), 'a → b → c → a'],
    ['redirect_loop', settings(null, 'd>a', 'a>b', 'b>a'), 'domains.redirects[1]: a → b → a'],
    ['redirect_chain', settings(null, 'a>b', 'b>c'), 'domains.redirects[0]: a → b → c'],
    ['redirect_chain', settings('d', 'c>d', 'a>b', 'b>c'), 'redirect a to d directly'],
  ])('%s: %j', (code, given, words) => {
    const refusal = checkSettings(given, project);
    expect(refusal).toMatchObject({ code, reason: expect.stringContaining(words) });
    expect(refusal?.reason).toMatch(/^domains\.(?:primary|redirects(?:\[\d+\](?:\.status)?)?): /);
    expect(refusal?.reason).toMatch(/^[^\n]{20,200}\.$/u);
  });
});

describe('for random settings', () => {
  const name = fc.constantFrom(...hosts, 'x');
  const redirect = fc.record({
    from: name,
    to: name,
    status: fc.constantFrom(...redirectStatuses, 303),
  });
  const anySettings = fc.record({
    primary: fc.option(name),
    redirects: fc.array(redirect, { maxLength: 5 }),
  });

  /** The rule once more, over the whole set. */
  function isSound({ primary, redirects }: DomainSettings): boolean {
    const froms = redirects.map(({ from }) => from);
    const ends = redirects.map(({ to }) => to);
    const named = [...froms, ...ends, ...(primary === null ? [] : [primary])];
    return (
      named.every((one) => project.has(one)) &&
      redirects.every(({ status }) => redirectStatuses.includes(status)) &&
      new Set(froms).size === froms.length &&
      ![...ends, primary].some((one) => one !== null && froms.includes(one))
    );
  }

  it('exactly those without redirect chains are accepted', () => {
    fc.assert(
      fc.property(anySettings, (given) => {
        expect(checkSettings(given, project) === null).toBe(isSound(given));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a domain is in use', () => {
  it.each<[string, DomainSettings, boolean]>([
    ['as the primary domain', settings('a'), true],
    ['as the target of a redirect', settings(null, 'b>a'), true],
    ['not if it only redirects away', settings('b', 'a>b'), false],
    ['not if only others are', settings('b', 'c>d'), false],
  ])('%s', (_title, given, expected) => {
    expect(isInUse(usesOf(given, 'a'))).toBe(expected);
  });
});

function fan(count: number): Redirect[] {
  return Array.from({ length: count }, (_, i) => entry(`old${i}>a`));
}
