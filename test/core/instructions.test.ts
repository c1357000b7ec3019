import { describe, expect, it } from 'vitest';
import { recordFor, zoneBelow } from '../../src/core/names/instructions.ts';

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

describe('a zone delegated below the domain', () => {
  const delegated = (zone: string) => ({
    kind: 'delegated' as const,
    zone,
    parent: 'example.com',
    atParent: [],
    atZone: null,
    ttlSeconds: 60,
  });
  it.each([
    ['a.sub.example.com', 'sub.example.com', 'CNAME', 'a'],
    ['docs.example.com', 'docs.example.com', 'ALIAS', '@'],
    ['docs.example.com', 'example.com', 'CNAME', 'docs'],
    ['docs.example.com', 'com', 'CNAME', 'docs'],
    ['docs.example.com', 'other.example.com', 'CNAME', 'docs'],
  ])('%s in the zone %s needs %s %s', (hostname, cut, type, name) => {
    const zone = zoneBelow({ hostname, delegation: delegated(cut) });
    const record = recordFor({ hostname, target: 'p1.edge.test', ...(zone && { zone }) });
    expect(record).toMatchObject({ type, name });
  });

  it('is unknown without a delegation', () => {
    expect(zoneBelow({ hostname: 'docs.example.com', delegation: null })).toBeUndefined();
  });
});
