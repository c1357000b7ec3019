import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { int64, int64Of, text, wholeNumber } from '../../src/http/pipeline/json.ts';
import { validate } from '../../src/http/pipeline/validate.ts';
import { parseJson, renderJson } from '../../src/net/json.ts';
import { cpuMs } from '../support/cpu-time.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const parse = (text: string) => parseJson(bytes(text));

describe('parseJson', () => {
  const understood: readonly [json: string, value: unknown][] = [
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9007199254740993', 9007199254740993n],
    ['-0', 0n],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['1.0', 1],
    ['"007"', '007'],
    ['[1,{"a":[]},"x:y{",null,true]', [1n, { a: [] }, 'x:y{', null, true]],
    ['{"a":{"b":1},"c":{"b":1}}', { a: { b: 1n }, c: { b: 1n } }],
    ['"\\"{:[\\\\"', '"{:[\\'],
    ['\ufeff1', 1n],
  ];
  test.each(understood)('parses %s exactly', (json, value) => {
    expect(parse(json)).toEqual({ ok: true, value });
  });

  const malformed = [
    '',
    ' ',
    '007',
    '+1',
    '1.',
    '.5',
    '0x1',
    'NaN',
    '{',
    '{"a":1',
    '{"a":1,}',
    '[1,]',
    "{'a':1}",
    '{a:1}',
    '"a',
    '"a\\',
    '"\u0001"',
    '1 2',
    '{"a"::1}',
    '{"a":1 "b":2}',
  ];
  test.each(malformed)('rejects %j', (json) => {
    expect(parse(json)).toEqual({ ok: false, code: 'malformed_json' });
  });

  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":1}',
    '[{"b":{"a":[],"a":[]}}]',
    '{"__proto__":1,"__proto__":1}',
  ])('rejects %s because a name occurs twice', (json) => {
    expect(parse(json)).toMatchObject({
      ok: false,
      code: 'malformed_json',
      problem: expect.any(String),
    });
  });

  test('rejects octets that are not UTF-8', () => {
    const octets = Uint8Array.of(0x22, 0xc3, 0x28, 0x22);
    expect(parseJson(octets)).toEqual({ ok: false, code: 'malformed_json' });
  });

  test('accepts 32 levels and rejects one more before it parses', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(32)).ok).toBe(true);
    expect(parse(nested(33))).toEqual({ ok: false, code: 'json_too_deep' });
    expect(parse('{"a":'.repeat(33))).toEqual({ ok: false, code: 'json_too_deep' });
    expect(parse('['.repeat(65_000))).toEqual({ ok: false, code: 'json_too_deep' });
    expect(parse(`"${'['.repeat(60_000)}"`).ok).toBe(true);
  });

  test('treats __proto__ like any other name', () => {
    const parsed = parse('{"__proto__":{"admin":true}}');
    const value = parsed.ok ? (parsed.value as object) : {};
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Reflect.get({}, 'admin')).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test.each([
    ['quotes', '"\\"'.repeat(20_000)],
    ['backslashes', `"${'\\'.repeat(64_001)}`],
    ['digits', '1'.repeat(65_000)],
    ['equal names', `{${'"a":{},'.repeat(8_000)}"a":{}}`],
  ])('handles 64 KiB of %s fast', (_what, json) => {
    expect(cpuMs(() => parse(json))).toBeLessThan(500);
  });

  test('restores any value that renderJson wrote', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    fc.assert(
      fc.property(value, (given) => {
        const parsed = parse(renderJson(given));
        expect(parsed).toEqual({ ok: true, value: given });
      }),
    );
  });
});

describe('renderJson', () => {
  test('writes bigint in digits and Date as RFC 3339, and leaves out undefined', () => {
    const at = new Date('2026-11-20T12:00:00Z');
    expect(renderJson({ id: 2n ** 63n - 1n, at, gone: undefined, nothing: null })).toBe(
      '{"id":9223372036854775807,"at":"2026-11-20T12:00:00.000Z","nothing":null}',
    );
  });
});

describe('Field validation', () => {
  const schema = z.strictObject({
    id: int64().optional(),
    status: wholeNumber({ min: 300, max: 399 }).optional(),
    name: text({ max: 3 }).optional(),
    inner: z.strictObject({ list: z.array(z.strictObject({ from: z.string() })) }).optional(),
    kind: z.enum(['a', 'b']).optional(),
    on: z.boolean().optional(),
  });
  const idWords = 'id: must be a whole number from -9223372036854775808 to 9223372036854775807';
  const statusWords = 'status: must be a whole number from 300 to 399';
  const nameWords = 'name: must be a string of 1 to 3 characters, without NUL';

  const validated: readonly [json: string, outcome: unknown][] = [
    ['{"id":9223372036854775807,"status":301}', { id: 2n ** 63n - 1n, status: 301 }],
    ['{"id":-9223372036854775808}', { id: -(2n ** 63n) }],
    ['{"id":9223372036854775808}', idWords],
    ['{"id":-9223372036854775809}', idWords],
    ['{"id":1.5}', idWords],
    ['{"id":1e3}', idWords],
    ['{"id":"7"}', idWords],
    ['{"id":true}', idWords],
    ['{"status":299}', statusWords],
    ['{"status":400}', statusWords],
    ['{"status":301.5}', statusWords],
    ['{"name":"🐕🐕🐕"}', { name: '🐕🐕🐕' }],
    ['{"name":"abcd"}', nameWords],
    ['{"on":"true"}', 'on: must be true or false'],
    ['{"kind":"c","inner":7}', 'inner: must be an object; kind: must be one of a, b'],
    ['{"inner":{"list":[{"from":"x"},{}]}}', 'inner.list[1].from: is required'],
    [
      '{"inner":{"list":[{"from":1,"to":2}]}}',
      'inner.list[0].from: must be a string; inner.list[0].to: is not a known field',
    ],
    ['{"inner":{"list":{}}}', 'inner.list: must be a list'],
  ];
  test.each(validated)('describes what is wrong with %s', (json, outcome) => {
    const parsed = parse(json);
    const result = validate(schema, parsed.ok ? parsed.value : undefined);
    expect(result.ok ? result.value : result.problems).toEqual(outcome);
  });

  test('keeps the error short for a body with very many wrong fields', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`${'x'.repeat(90)}${n}`, 1n]),
    );
    const result = validate(schema, many);
    expect(result.ok ? '' : result.problems.length).toBeLessThan(2_500);
    expect(result).toMatchObject({ problems: expect.stringMatching(/; and 4980 more$/) });
  });
});

test('accepts a whole number in a path only in its JSON form', () => {
  const range = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
  fc.assert(fc.property(fc.bigInt(range), (n) => int64Of(String(n)) === n));
  const outside = [
    '',
    '-',
    '-0',
    '00',
    '01',
    '+1',
    ' 1',
    '1 ',
    '1.0',
    '1n',
    '٣',
    '9223372036854775808',
    '-9223372036854775809',
  ];
  for (const segment of outside) expect(int64Of(segment), segment).toBeNull();
});
