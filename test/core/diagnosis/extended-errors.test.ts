import { describe, expect, it } from 'vitest';
import {
  bogusCause,
  describeExtendedError,
  extendedErrorWords,
  isBogus,
  isFilter,
} from '../../../src/core/diagnosis/extended-errors.ts';

const codes = Array.from({ length: 40 }, (_, code) => code);
const of = (...some: readonly number[]) => some.map((code) => ({ code, text: '' }));

describe('an extended error', () => {
  it('has a text from 0 to 24', () => {
    expect(new Set(extendedErrorWords).size).toBe(25);
    for (const code of codes.slice(0, 25)) {
      const said = describeExtendedError({ code, text: '' });
      expect(said).toMatch(/^.{10,90} \(EDE \d+\)$/u);
      expect(said).toContain(`(EDE ${code})`);
    }
  });

  it('has its number and text when its name is unknown', () => {
    expect(describeExtendedError({ code: 27, text: 'too many' })).toBe(
      'an unknown error (EDE 27: “too many”)',
    );
    expect(describeExtendedError({ code: 65_535, text: '' })).toContain('EDE 65535');
  });

  it('shows the resolver’s text, escaped and truncated', () => {
    expect(describeExtendedError({ code: 7, text: 'expired 3 days ago' })).toBe(
      'the DNSSEC signatures have expired (EDE 7: “expired 3 days ago”)',
    );
    const hostile = describeExtendedError({
      code: 0,
      text: `\u001b[31m\u202e${'x'.repeat(10_000)}`,
    });
    expect(hostile).not.toMatch(/\p{C}/u);
    expect(hostile).toContain('\\u{1b}[31m\\u{202e}xxx');
    expect(hostile.length).toBeLessThan(260);
  });

  it('means broken DNSSEC from 6 to 12', () => {
    expect(codes.filter(isBogus)).toEqual([6, 7, 8, 9, 10, 11, 12]);
  });

  it('means a filter, which is not the customer’s problem, at 4 and from 15 to 18', () => {
    expect(codes.filter(isFilter)).toEqual([4, 15, 16, 17, 18]);
  });

  it('that names the cause outweighs the general one', () => {
    expect(bogusCause(of(22, 6, 9, 7))).toEqual({ code: 9, text: '' });
    expect(bogusCause(of(22, 6))).toEqual({ code: 6, text: '' });
    expect(bogusCause(of(0, 5, 13, 22))).toBeUndefined();
    expect(bogusCause([])).toBeUndefined();
  });
});
