import { describe, expect, it } from 'vitest';
import {
  decideJoin,
  GONE_MS,
  type JoinDecision,
  type Joining,
} from '../../src/core/operations/fleet.ts';
import { at, local, older, seen, self, settings, worker } from './support/sample-fleet.ts';

const joining: Joining = {
  self,
  others: [worker],
  accepted: {},
  queue: 'ours',
  now: at(101),
  goneMs: GONE_MS,
};

const table: readonly (readonly [
  when: string,
  Partial<Joining>,
  JoinDecision['kind'],
  problem?: string,
])[] = [
  ['it is the first', { others: [] }, 'join'],
  ['all agree', {}, 'join'],
  [
    'another differs, and reported since',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen }],
    },
    'refuse',
    'ACME_DIRECTORY_URL is local, but https://acme.example/directory in worker on host-a (version 1.2.0).',
  ],
  [
    'several settings differ',
    {
      self: { ...self, settings: { ...local, EDGE: 'caddy' } },
      others: [{ ...worker, ...seen }],
    },
    'refuse',
    'EDGE is caddy, but own in worker on host-a (version 1.2.0).',
  ],
  [
    'another differs, and has not reported since: it can have crashed',
    { self: { ...self, settings: local } },
    'wait',
  ],
  [
    'another differs, and crashed',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, seenAt: at(60) }],
      now: at(129),
    },
    'wait',
  ],
  ['another differs, and is gone', { self: { ...self, settings: local }, now: at(131) }, 'join'],
  [
    'another differs, and started later',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen, startedAt: at(101) }],
    },
    'join',
  ],
  [
    'another differs, started in the same millisecond, and comes first',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen, startedAt: at(100) }],
    },
    'refuse',
  ],
  [
    'another differs, and still starts',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen, joinedAt: null }],
    },
    'wait',
  ],
  [
    'another differs, and was refused',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen, refusedAt: at(90) }],
    },
    'join',
  ],
  [
    'another differs, and the change was accepted',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen }],
      accepted: local,
    },
    'join',
  ],
  [
    'another change was accepted',
    {
      self: { ...self, settings: local },
      others: [{ ...worker, ...seen }],
      accepted: { ...settings, ACME_DIRECTORY_URL: 'https://other.example/directory' },
    },
    'refuse',
  ],
  [
    'only one of two changes was accepted',
    {
      self: { ...self, settings: { ...local, EDGE: 'caddy' } },
      others: [{ ...worker, ...seen }],
      accepted: local,
    },
    'refuse',
    'EDGE is caddy',
  ],
  [
    'it has no Redis, and another has',
    {
      self: { ...self, settings: { ...settings, REDIS_URL: 'not set' } },
      others: [{ ...worker, ...seen }],
    },
    'refuse',
    'REDIS_URL is not set, but redis://cache:6379/0 in worker on host-a',
  ],
  [
    'it reaches the same Redis by another name',
    {
      self: { ...self, settings: { ...settings, REDIS_URL: 'redis://10.0.0.7:6379/0' } },
      others: [{ ...worker, ...seen }],
    },
    'join',
  ],
  [
    'it is an edge, which has no queue',
    {
      self: { ...self, role: 'edge', settings: { EDGE: 'own' } },
      others: [{ ...worker, ...seen }],
    },
    'join',
  ],
  [
    'its Redis belongs to another installation',
    { others: [], queue: 'foreign' },
    'refuse',
    'REDIS_URL redis://cache:6379/0 holds the queue of another installation.',
  ],
  ['its Redis is new, and nothing else runs', { others: [], queue: 'missing' }, 'join'],
  ['its Redis is empty, and the others have not reported since', { queue: 'missing' }, 'wait'],
  [
    'its Redis is empty, and that of the others is not',
    {
      queue: 'missing',
      others: [{ ...worker, ...seen }],
    },
    'refuse',
    'REDIS_URL redis://cache:6379/0 is another Redis than redis://cache:6379/0 of worker on host-a',
  ],
  [
    'its Redis is empty, and no other sees one',
    {
      queue: 'missing',
      others: [{ ...worker, ...seen, queueSeenAt: at(90) }],
    },
    'wait',
  ],
  ['its Redis is empty, and the others are gone', { queue: 'missing', now: at(131) }, 'join'],
  [
    'its Redis is empty, and only an edge runs',
    {
      queue: 'missing',
      others: [{ ...worker, ...seen, role: 'edge', settings: { EDGE: 'own' }, queueSeenAt: null }],
    },
    'join',
  ],
  ['its Redis is idle, and the others crashed', { queue: 'idle', now: at(126) }, 'join'],
  ['its Redis is idle, and the others could still report', { queue: 'idle', now: at(101) }, 'wait'],
  [
    'its Redis is idle, and that of the others is not',
    { queue: 'idle', others: [{ ...worker, ...seen }] },
    'refuse',
    'REDIS_URL redis://cache:6379/0 is another Redis than redis://cache:6379/0 of worker on host-a',
  ],
  ['its Redis does not answer', { queue: 'unknown' }, 'join'],
  [
    'it has a newer schema',
    {
      others: [{ ...worker, ...seen, settings: older }],
    },
    'join',
  ],
  [
    'it has an older schema',
    {
      self: { ...self, settings: older },
      others: [{ ...worker, ...seen }],
    },
    'refuse',
    'this version’s schema is 2026_one, older than 2026_two of worker on host-a',
  ],
  [
    'it has an older schema, as another that still runs',
    {
      self: { ...self, settings: older },
      others: [
        { ...worker, ...seen },
        { ...worker, id: 'a', settings: older },
      ],
    },
    'join',
  ],
  [
    'it has an older schema, and going back was accepted',
    {
      self: { ...self, settings: older },
      others: [{ ...worker, ...seen }],
      accepted: older,
    },
    'join',
  ],
];

const rows = table.map(([when, given, kind, problem = '']) => ({ when, given, kind, problem }));

describe('A process that starts', () => {
  it.each(rows)('if $when', ({ given, kind, problem }) => {
    const decision = decideJoin({ ...joining, ...given });
    expect(decision.kind).toBe(kind);
    if (decision.kind === 'refuse') expect(decision.problem).toContain(problem);
  });
});
