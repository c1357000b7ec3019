import { describe, expect, it } from 'vitest';
import {
  type OperatorTaskCode,
  operatorTasksOf,
  secondsInWords,
  type Vitals,
} from '../../src/core/operations/operator-tasks.ts';

const well: Vitals = {
  turnAgeSeconds: 40,
  queueAnswers: true,
  overdueSeconds: { 'check-dns': 12, 'recheck-live': 0 },
  escalationsOpen: 0,
  jobsSetAside: 0,
  certificates: { ended: 0, day: 0, week: 0 },
  dnsOperators: [{ operator: 'ns.example', domains: 4 }],
  ofOurResolvers: 1,
  attached: 40,
  queuesPaused: [],
};

const table: readonly (readonly [what: string, Partial<Vitals>, OperatorTaskCode, string])[] = [
  ['no worker has ever run', { turnAgeSeconds: null }, 'no_worker', 'No worker has run yet'],
  ['no worker is running', { turnAgeSeconds: 720 }, 'no_worker', 'for 12 minutes'],
  ['Redis is down', { queueAnswers: false }, 'queue_away', 'safe in the database'],
  [
    'one queue is late',
    { overdueSeconds: { 'check-dns': 301 } },
    'work_overdue',
    'check-dns is 5 minutes late.',
  ],
  [
    'several queues are late',
    { overdueSeconds: { a: 400, b: 8_000, c: 500 } },
    'work_overdue',
    'b is 2 hours late. Also late: c, a.',
  ],
  [
    'a queue is paused',
    { queuesPaused: ['check-dns'] },
    'queue_paused',
    'check-dns is paused, so no job in it runs.',
  ],
  [
    'all queues are paused',
    { queuesPaused: ['check-dns', 'issue-certificate', 'recheck-live', 'renew-certificate'] },
    'queue_paused',
    'check-dns, issue-certificate, recheck-live and 1 more are paused',
  ],
  [
    'our own resolvers fail for many domains',
    { ofOurResolvers: 5, attached: 50 },
    'resolvers_silent',
    'Our resolvers couldn’t check 5 domains.',
  ],
  [
    'our own resolvers fail for the only domain',
    { ofOurResolvers: 1, attached: 1 },
    'resolvers_silent',
    'couldn’t check 1 domain.',
  ],
  [
    'our own resolvers fail for all of the few domains checked so far',
    { ofOurResolvers: 1_000, attached: 100_000 },
    'resolvers_silent',
    'couldn’t check 1000 domains.',
  ],
  [
    'an escalation is open',
    { escalationsOpen: 1 },
    'escalations_open',
    'The certificate of 1 domain could not be issued or renewed.',
  ],
  [
    'jobs are quarantined',
    { jobsSetAside: 2 },
    'jobs_set_aside',
    '2 jobs failed repeatedly and were quarantined.',
  ],
  [
    'a certificate has expired',
    { certificates: { ended: 1, day: 0, week: 0 } },
    'certificates_ended',
    '1 served domain has an expired certificate. Visitors see a warning.',
  ],
  [
    'certificates expire within a day',
    { certificates: { ended: 0, day: 2, week: 3 } },
    'certificates_end_soon',
    '2 certificates expire within a day.',
  ],
  [
    'certificates expire within a week',
    { certificates: { ended: 0, day: 0, week: 3 } },
    'certificates_end_soon',
    '3 certificates expire within a week.',
  ],
  [
    'an operator of name servers is silent',
    { dnsOperators: [{ operator: 'ns.example', domains: 5 }] },
    'dns_operator_silent',
    'ns.example (5 domains)',
  ],
];

describe("an operator's tasks", () => {
  it('are empty while all is well', () => {
    expect(operatorTasksOf(well)).toEqual([]);
  });

  it.each(table)('include a task when %s', (_what, change, code, words) => {
    const tasks = operatorTasksOf({ ...well, ...change });
    expect(tasks.map((one) => one.code)).toEqual([code]);
    expect(tasks[0]?.summary).toContain(words);
    expect(tasks[0]?.action).toMatch(/\.$/);
  });

  it.each([
    { ofOurResolvers: 0, attached: 0 },
    { ofOurResolvers: 4, attached: 9 },
    { ofOurResolvers: 5, attached: 51 },
    { ofOurResolvers: 999, attached: 100_000 },
  ])('exclude failing zones of a few customers: %j', (few) => {
    expect(operatorTasksOf({ ...well, ...few })).toEqual([]);
  });

  it('start with those that stop everything', () => {
    const all = Object.assign({}, well, ...table.map(([, change]) => change)) as Vitals;
    const tasks = operatorTasksOf({ ...all, queueAnswers: false, turnAgeSeconds: null });
    expect(tasks.slice(0, 3).map(({ code }) => code)).toEqual([
      'queue_away',
      'no_worker',
      'queue_paused',
    ]);
    const urgencies = tasks.map(({ urgency }) => urgency);
    expect(urgencies).toEqual([...urgencies].sort()); // act before watch
  });
});

it.each([
  [1, '1 second'],
  [119, '119 seconds'],
  [120, '2 minutes'],
  [7_200, '2 hours'],
  [200_000, '2 days'],
])('%d seconds are shown as %s', (seconds, words) => expect(secondsInWords(seconds)).toBe(words));
