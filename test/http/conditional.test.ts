import { describe, expect, test } from 'vitest';
import { entityTagOf, isUnchanged, mayChange } from '../../src/http/pipeline/render.ts';

const tag = entityTagOf('[1]');

describe('entityTagOf', () => {
  test('returns a strong tag that depends on the text alone', () => {
    expect(tag).toMatch(/^"[A-Za-z0-9_-]{27}"$/);
    expect(entityTagOf('[1]')).toBe(tag);
    expect(entityTagOf('[2]')).not.toBe(tag);
  });
});

describe('isUnchanged for If-None-Match (RFC 9110, 13.1.2)', () => {
  const cases: readonly [what: string, header: string | undefined, unchanged: boolean][] = [
    ['no header', undefined, false],
    ['the tag', tag, true],
    ['the tag, weak', `W/${tag}`, true],
    ['*', '*', true],
    ['a list with the tag', `"a", ${tag} ,"b"`, true],
    ['a list without it', '"a", "b"', false],
    ['a tag with a comma in it', '"a,b"', false],
    ['the tag without its quotes', tag.slice(1, -1), false],
    ['an empty header', '', false],
  ];
  test.each(cases)('compares %s', (_what, header, unchanged) => {
    expect(isUnchanged(header, tag)).toBe(unchanged);
  });
});

describe('mayChange (RFC 9110, 13.1.1 and 13.1.2)', () => {
  type Row = readonly [what: string, ifMatch?: string | undefined, ifNoneMatch?: string];
  const may: readonly Row[] = [
    ['without a condition'],
    ['If-Match with the tag', tag],
    ['If-Match: *', ' * '],
    ['If-Match with a list that has the tag', `"a", ${tag} ,"b"`],
    ['If-None-Match with another tag', undefined, '"a"'],
    ['both headers, each matching', tag, '"a"'],
  ];
  test.each(may)('allows a change: %s', (_what, ifMatch, ifNoneMatch) => {
    expect(mayChange({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, tag)).toBe(true);
  });

  const mayNot: readonly Row[] = [
    ['If-Match with another tag', '"a"'],
    ['If-Match with the tag, weak', `W/${tag}`],
    ['If-Match with the tag without its quotes', tag.slice(1, -1)],
    ['an empty If-Match', ''],
    ['If-Match: * in a list', '"a", *'],
    ['If-None-Match with the tag', undefined, tag],
    ['If-None-Match with the tag, weak', undefined, `W/${tag}`],
    ['If-None-Match: *', undefined, '*'],
    ['both headers, If-None-Match: *', tag, '*'],
  ];
  test.each(mayNot)('rejects a change: %s', (_what, ifMatch, ifNoneMatch) => {
    expect(mayChange({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, tag)).toBe(false);
  });
});
