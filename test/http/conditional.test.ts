import { describe, expect, test } from 'vitest';
import { entityTagOf, isUnchanged } from '../../src/http/conditional.ts';

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
