import { describe, expect, it } from 'vitest';
import { presentationOf, recordToAdd } from '../../../../src/core/diagnosis/caa/caa-value.ts';

describe('a CAA record in presentation format', () => {
  it.each([
    ['issue', 'letsencrypt.org', '0 issue "letsencrypt.org"'],
    ['issue', '', '0 issue ""'],
    ['iodef', 'say "hi"', '0 iodef "say \\"hi\\""'],
    ['issue', 'a\u0000\u001b[31m', '0 issue "a\\000\\027[31m"'],
    ['issue', 'a\\009b', '0 issue "a\\009b"'],
    ['issue', 'ü', '0 issue "\\195\\188"'],
    ['issue', '\\195\\188', '0 issue "\\195\\188"'],
    ['issue', 'a\\092b', '0 issue "a\\\\b"'],
    ['a b"', 'x', '0 a\\032b\\034 "x"'],
    ['issue', '<script>', '0 issue "<script>"'],
  ])('%s %j is %s', (tag, value, shown) => {
    expect(presentationOf({ flags: 0, tag, value })).toBe(shown);
  });

  it('is valid for a customer to paste', () => {
    expect(recordToAdd('letsencrypt.org', [])).toBe('0 issue "letsencrypt.org"');
  });
});
