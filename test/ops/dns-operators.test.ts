import { expect, it } from 'vitest';
import { createNamedOperators } from '../../src/ops/metrics/traffic.ts';

it('DNS operator metrics name the busiest operators, up to a fixed number', () => {
  const named = createNamedOperators({ operators: 2, askedBefore: 3 });
  const ask = (operator: string, times: number) =>
    Array.from({ length: times }, () => named(operator)).at(-1);
  expect(ask('recursive', 1)).toBe('recursive');
  expect(ask('cloudflare.com', 3)).toBe('other');
  expect(ask('cloudflare.com', 1)).toBe('cloudflare.com');
  for (let n = 0; n < 100; n++) expect(ask(`home-${n}.example`, 3)).toBe('other');
  expect(ask('awsdns-01.com', 4)).toBe('awsdns-01.com');
  expect(ask('too-late.example', 50)).toBe('other');
  // A name keeps its place, because a counter never decreases.
  expect(ask('cloudflare.com', 1)).toBe('cloudflare.com');
});
