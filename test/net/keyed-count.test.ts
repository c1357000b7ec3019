import { expect, it } from 'vitest';
import { createKeyedCount } from '../../src/net/keyed-count.ts';

it('refuses the use that exceeds its key’s limit until one is released', () => {
  const count = createKeyedCount({ total: 4, perKey: 1 });
  const first = count.admit('slow', 2);
  expect(count.admit('slow', 2)).toBeTypeOf('function');
  expect(count.admit('slow', 2)).toBe('key');
  expect(count.admit('quick', 2)).toBeTypeOf('function');
  if (typeof first === 'function') {
    first();
    first(); // releasing twice frees one place
  }
  expect(count.admit('slow', 2)).toBeTypeOf('function');
  expect(count.admit('slow', 2)).toBe('key');
  expect(count.admit('quick')).toBe('key');
  expect(count.admit('other')).toBeTypeOf('function');
  expect(count.admit('fifth')).toBe('total');
});
