import { describe, expect, it } from 'vitest';
import { recordFor } from '../../src/core/instructions.ts';

describe('the record to create', () => {
  const target = 'p1.edge.example';
  it.each([
    ['docs.example.com', 'CNAME', 'docs'],
    ['a.b.example.co.uk', 'CNAME', 'a.b'],
    ['example.com', 'ALIAS', '@'],
    ['example.co.uk', 'ALIAS', '@'],
    ['xn--bcher-kva.example.com', 'CNAME', 'xn--bcher-kva'],
    ['docs.lab.test', 'CNAME', 'docs'],
  ])('for %s is %s %s', (hostname, type, name) => {
    expect(recordFor({ hostname, target })).toEqual({ type, name, value: target, ttl: 3600 });
  });
});
