import { describe, expect, test } from 'vitest';
import { entityTagOf, isUnchanged, mayChange } from '../../src/http/pipeline/render.ts';

const tag = entityTagOf('[1]');

describe('an entity tag', () => {
  test('is strong, the same for the same text and another for another', () => {
    expect(tag).toMatch(/^"[A-Za-z0-9_-]{27}"$/);
    expect(entityTagOf('[1]')).toBe(tag);
    expect(entityTagOf('[2]')).not.toBe(tag);
  });
});

describe('If-None-Match (RFC 9110, 13.1.2)', () => {
  const cases: readonly [what: string, header: string | undefined, unchanged: boolean][] = [
    ['none', undefined, false],
    ['the tag', tag, true],
    ['the tag, weak', `W/${tag}`, true],
    ['any', '*', true],
    ['a list with the tag', `"a", ${tag} ,"b"`, true],
    ['a list without it', '"a", "b"', false],
    ['a tag with a comma in it', '"a,b"', false],
    ['the tag without its quotes', tag.slice(1, -1), false],
    ['nothing', '', false],
  ];
  test.each(cases)('%s', (_what, header, unchanged) => {
    expect(isUnchanged(header, tag)).toBe(unchanged);
  });
});

describe('a change of what has the tag (RFC 9110, 13.1.1 and 13.1.2)', () => {
  type Row = readonly [what: string, ifMatch?: string | undefined, ifNoneMatch?: string];
  const may: readonly Row[] = [
    ['without a condition'],
    ['If-Match with the tag', tag],
    ['If-Match with any', ' * '],
    ['If-Match with a list that has the tag', `"a", ${tag} ,"b"`],
    ['If-None-Match with another tag', undefined, '"a"'],
    ['both, each as it should be', tag, '"a"'],
  ];
  test.each(may)('may be: %s', (_what, ifMatch, ifNoneMatch) => {
    expect(mayChange({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, tag)).toBe(true);
  });

  const mayNot: readonly Row[] = [
    ['If-Match with another tag', '"a"'],
    ['If-Match with the tag, weak', `W/${tag}`],
    ['If-Match with the tag without its quotes', tag.slice(1, -1)],
    ['If-Match with nothing', ''],
    ['If-Match with any in a list', '"a", *'],
    ['If-None-Match with the tag', undefined, tag],
    ['If-None-Match with the tag, weak', undefined, `W/${tag}`],
    ['If-None-Match with any', undefined, '*'],
    ['both, If-None-Match with any', tag, '*'],
  ];
  test.each(mayNot)('may not be: %s', (_what, ifMatch, ifNoneMatch) => {
    expect(mayChange({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }, tag)).toBe(false);
  });
});
