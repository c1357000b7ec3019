import { describe, expect, it } from 'vitest';
import { createIsSecret } from '../../../src/http/keys/auth.ts';
import { idempotencyKeyOf as read } from '../../../src/http/pipeline/idempotency.ts';
import type { Headers } from '../../../src/http/pipeline/route.ts';

const long = 'x'.repeat(255);

/** The header value and its key; null: rejected. */
const table: readonly [value: string, key: string | null][] = [
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['order 7 ~!', 'order 7 ~!'],
  ['say "hi"', 'say "hi"'],
  [String.raw`"a \"quoted\" \\ one"`, String.raw`a "quoted" \ one`],
  [String.raw`back\slash`, String.raw`back\slash`],
  ['"a, b"', 'a, b'],
  [long, long],
  [`"${long}"`, long],
  ['', null],
  ['""', null],
  [`${long}x`, null],
  [`"${long}x"`, null],
  ['"', null],
  ['"open', null],
  ['"two" "strings"', null],
  ['"with";parameter', null],
  [String.raw`"ends in \"`, null],
  [String.raw`"bad \escape"`, null],
  ['a, b', null],
  ['"a", "b"', null],
  ['tab\tinside', null],
  ['é', null],
  ['"\u0000"', null],
  ['delete\u007f', null],
];

const idempotencyKeyOf = (headers: Headers) => read(headers, createIsSecret(undefined));

describe('The Idempotency-Key header', () => {
  it('is optional', () => {
    expect(idempotencyKeyOf({})).toEqual({ ok: true, key: null });
  });

  it.each(table)('parses %j', (value, key) => {
    const given = idempotencyKeyOf({ 'idempotency-key': value });
    if (key !== null) return expect(given).toEqual({ ok: true, key });
    expect(given).toMatchObject({
      ok: false,
      refusal: { status: 400, body: { code: 'invalid_idempotency_key' } },
    });
  });
});
