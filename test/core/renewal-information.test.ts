import { describe, expect, it } from 'vitest';
import { certificateIdOf } from '../../src/certificates/acme/resources.ts';
import {
  askAgainAt,
  askFirstAt,
  askSilentAgainAt,
  certificateId,
  renewalTime,
  renewalWindow,
} from '../../src/core/certificates/renewal-information.ts';

/** RFC 9773, appendix A. */
const example = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`;

describe('A certificate ID', () => {
  const key = Uint8Array.of(0xfb, 0xff);
  it.each<[string, readonly number[], string]>([
    ['has a sign byte for a serial number that would look negative', [0x87, 0x65], '-_8.AIdl'],
    ['has an existing sign byte once', [0, 0x87, 0x65], '-_8.AIdl'],
    ['has no needless sign byte', [0, 0x65, 0x43], '-_8.ZUM'],
    ['can have an empty serial number', [0, 0], '-_8.AA'],
  ])('%s', (_what, serial, id) => {
    expect(certificateId(key, Uint8Array.from(serial))).toBe(id);
  });

  it('matches the example of RFC 9773', async () => {
    expect(await certificateIdOf(example)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  });
});

const at = (time: string) => new Date(`2026-12-${time}Z`);
const window = { start: at('01T00:00:00'), end: at('03T00:00:00') };

describe('A renewal', () => {
  it.each<[string, number, Date, Date]>([
    ['at the start of its window', 0, at('01T00:00:00'), window.start],
    ['in the middle', 0.5, at('01T00:00:00'), at('02T00:00:00')],
    ['now when the drawn time is past', 0.25, at('02T00:00:00'), at('02T00:00:00')],
    ['now when the window is past', 0.999, at('09T00:00:00'), at('09T00:00:00')],
  ])('is due %s', (_when, draw, now, due) => {
    expect(renewalTime(window, draw, now)).toEqual(due);
  });

  it('has no window when that is empty or inverted', () => {
    expect(renewalWindow(window.start, window.end)).toEqual(window);
    expect(renewalWindow(window.start, window.start)).toBeNull();
    expect(renewalWindow(window.end, window.start)).toBeNull();
  });
});

describe('The window is queried again', () => {
  const now = at('01T00:00:00');
  it.each<[string, Date | null, Date]>([
    ['after Retry-After', at('01T03:00:00'), at('01T03:00:00')],
    ['after six hours without Retry-After', null, at('01T06:00:00')],
    ['after a minute at the earliest', at('01T00:00:01'), at('01T00:01:00')],
    ['after a day at the latest', at('08T00:00:00'), at('02T00:00:00')],
  ])('%s', (_when, retryAfter, again) => {
    expect(askAgainAt(now, retryAfter)).toEqual(again);
  });
});

describe('The CA is queried', () => {
  const now = at('01T00:00:00');
  it.each([
    ['soon', 0, at('01T00:00:00')],
    ['within six hours', 0.5, at('01T03:00:00')],
  ])('%s for a new certificate', (_when, draw, first) => {
    expect(askFirstAt(now, draw)).toEqual(first);
  });

  type Case = readonly [
    what: string,
    since: Date,
    retryAfter: Date | null,
    draw: number,
    again: Date,
  ];
  const silences: readonly Case[] = [
    ['an hour after its first timeout', now, null, 0, at('01T01:00:00')],
    ['or half an hour later', now, null, 1, at('01T01:30:00')],
    [
      'after 5 hours when it has been silent for 5',
      new Date(+now - 5 * 3_600_000),
      null,
      0,
      at('01T05:00:00'),
    ],
    ['after 16 hours at most', new Date(+now - 90 * 86_400_000), null, 0, at('01T16:00:00')],
    ['or up to a day with jitter', new Date(+now - 90 * 86_400_000), null, 1, at('02T00:00:00')],
    ['not before its Retry-After', now, at('01T07:00:00'), 1, at('01T07:00:00')],
    ['but after a day, whatever Retry-After says', now, at('06T00:00:00'), 0, at('02T00:00:00')],
  ];
  it.each(silences)('%s', (_what, since, retryAfter, draw, again) => {
    expect(askSilentAgainAt({ since, retryAfter }, draw, now)).toEqual(again);
  });
});
