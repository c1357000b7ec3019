import { describe, expect, it } from 'vitest';
import { HOUR } from '../../src/core/time.ts';
import { createTicketKeys } from '../../src/edge/tls/secure-contexts.ts';

describe('Session ticket keys', () => {
  const secret = new Uint8Array(32);
  const noon = Date.UTC(2026, 10, 24, 12);
  const keysAt = (at: number) => createTicketKeys(secret, () => new Date(at))();

  it('are the same in every process for half a day, then change', () => {
    expect(keysAt(noon)).toHaveLength(48);
    expect(keysAt(noon + 12 * HOUR - 1)).toEqual(keysAt(noon));
    const [before, after] = [keysAt(noon - 1), keysAt(noon + 12 * HOUR)];
    expect(before).not.toEqual(keysAt(noon));
    expect(after).not.toEqual(keysAt(noon));
    // The key name, by which an edge recognizes its tickets.
    expect(before.subarray(0, 16)).not.toEqual(keysAt(noon).subarray(0, 16));
  });

  it('are one value while they are valid', () => {
    const keys = createTicketKeys(secret, () => new Date(noon));
    expect(keys()).toBe(keys());
  });
});
