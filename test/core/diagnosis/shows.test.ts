import { expect, test } from 'vitest';
import type { ServerView } from '../../../src/core/diagnosis/observation.ts';
import { serversShow } from '../../../src/core/diagnosis/shows.ts';
import { recordFor } from '../../../src/core/names/instructions.ts';
import { anObservation } from '../../support/builders.ts';

const record = recordFor({ hostname: 'docs.shop.test', target: 'x.edge.test' });
const none = {
  cname: { kind: 'nodata' },
  a: { kind: 'nodata' },
  aaaa: { kind: 'nodata' },
} as const;
const at = (...records: [string, ...string[]]) =>
  ({ kind: 'records', records, ttlSeconds: 300 }) as const;
const silent = { kind: 'timeout' } as const;

const rows: readonly (readonly [Partial<ServerView>, string, string])[] = [
  [{}, 'right', 'CNAME x.edge.test, TTL 1 h'],
  [none, 'wrong', 'no such record (NODATA)'],
  [{ ...none, cname: { kind: 'nxdomain' } }, 'wrong', 'no such name (NXDOMAIN)'],
  [{ ...none, a: at('192.0.2.2', '192.0.2.1') }, 'wrong', 'A 192.0.2.1, 192.0.2.2, TTL 5 min'],
  [
    { ...none, cname: at('x.edge.test'), aaaa: silent },
    'right',
    'CNAME x.edge.test, TTL 5 min; AAAA: no answer in time',
  ],
  [{ cname: silent, a: silent, aaaa: silent }, 'unknown', 'no answer in time'],
  [{ state: 'not_asked' }, 'unknown', 'not queried this time'],
  [{ cname: at('\u202eevil.test') }, 'wrong', 'CNAME \\u{202e}evil.test, TTL 5 min'],
];

test.each(rows)('a server with %j is %s and shows: %s', (view, verdict, shows) => {
  expect(serversShow(anObservation(view), record)).toEqual([
    { server: 'ns1.shop.test', address: '192.0.2.53', verdict, shows },
  ]);
});
