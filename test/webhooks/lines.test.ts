import { describe, expect, it } from 'vitest';
import { createLines } from '../../src/webhooks/send.ts';

describe('a line', () => {
  it('has its places and sends away who is one too many, at once and until somebody leaves', () => {
    const lines = createLines();
    const first = lines.enter('slow', 2);
    expect(lines.enter('slow', 2)).not.toBeNull();
    expect(lines.enter('slow', 2)).toBeNull();
    expect(lines.enter('quick', 2)).not.toBeNull();
    first?.();
    expect(lines.enter('slow', 2)).not.toBeNull();
    expect(lines.enter('slow', 2)).toBeNull();
  });
});
