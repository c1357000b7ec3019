import { describe, expect, it } from 'vitest';
import { type FleetProcess, GONE_MS, seeFleet } from '../../src/core/operations/fleet.ts';
import {
  type OperatorTaskCode,
  operatorTasksOf,
  secondsInWords,
  type Vitals,
} from '../../src/core/operations/operator-tasks.ts';
import { at, local, self, settings, worker } from './support/sample-fleet.ts';

const onTime: Vitals['overdueSeconds'] = {
  'check-dns': 12,
  'issue-certificate': 300,
  'deliver-webhook': 0,
  'escalate-certificate': 0,
  'recheck-live': 3_600,
  'renew-certificate': 0,
};

const well: Vitals = {
  turnAgeSeconds: 40,
  queueAnswers: true,
  overdueSeconds: onTime,
  escalationsOpen: 0,
  jobsQuarantined: 0,
  certificates: { ended: 0, day: 0 },
  certificatesUnexpected: 0,
  redisMemory: { used: 90, max: 100 },
  postgresConnections: { used: 90, max: 100 },
  dnsOperators: [{ operator: 'ns.example', domains: 4 }],
  ofOurResolvers: 1,
  attached: 40,
  queuesPaused: [],
  fleet: [],
  rolesMissing: [],
};

const see = (now: Date, ...processes: readonly FleetProcess[]) =>
  seeFleet(processes, settings, { now, goneMs: GONE_MS });

const table: readonly (readonly [what: string, Partial<Vitals>, OperatorTaskCode, string])[] = [
  ['no worker has ever run', { turnAgeSeconds: null }, 'no_worker', 'No worker has run yet'],
  ['no worker is running', { turnAgeSeconds: 720 }, 'no_worker', 'for 12 minutes'],
  ['no worker reports', { rolesMissing: ['worker'] }, 'no_worker', 'No worker is running: nothing'],
  [
    'a worker alone cannot reach Redis',
    { fleet: see(at(96), { ...worker, queueSeenAt: at(64) }) },
    'process_cut_off',
    'Redis does not answer worker on host-a, but answers here.',
  ],
  ['no edge reports', { rolesMissing: ['edge'] }, 'role_missing', 'No edge is running'],
  [
    'a process was refused',
    {
      fleet: see(at(10), { ...worker, isRefused: true, problem: 'EDGE is caddy.' }),
    },
    'process_refused',
    'The configuration of worker on host-a differs: EDGE is caddy.',
  ],
  [
    'a process has older settings',
    {
      fleet: see(at(101), { ...worker, settings: local }, self),
    },
    'processes_differ',
    'An older configuration is in use: worker on host-a (ACME_DIRECTORY_URL).',
  ],
  ['Redis is down', { queueAnswers: false }, 'queue_away', 'safe in the database'],
  [
    'one queue is late',
    { overdueSeconds: { ...onTime, 'check-dns': 301 } },
    'work_overdue',
    'check-dns is 5 minutes late.',
  ],
  [
    'several queues are late',
    {
      overdueSeconds: {
        ...onTime,
        'check-dns': 400,
        'recheck-live': 8_000,
        'deliver-webhook': 500,
      },
    },
    'work_overdue',
    'recheck-live is 2 hours late. Also late: deliver-webhook, check-dns.',
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
    { jobsQuarantined: 2 },
    'jobs_quarantined',
    '2 jobs failed repeatedly and were quarantined.',
  ],
  [
    'a certificate has expired',
    { certificates: { ended: 1, day: 0 } },
    'certificates_ended',
    '1 served domain has an expired certificate. Visitors see a warning.',
  ],
  [
    'certificates expire within a day',
    { certificates: { ended: 0, day: 2 } },
    'certificates_end_soon',
    '2 certificates expire within a day.',
  ],
  [
    'certificates are from an unexpected CA',
    { certificatesUnexpected: 22 },
    'certificates_unexpected',
    '22 certificates of the last day are from a CA that is not configured.',
  ],
  [
    'Redis is nearly full',
    { redisMemory: { used: 91, max: 100 } },
    'redis_full',
    'Redis uses 91 % of its memory.',
  ],
  [
    'PostgreSQL has few connections left',
    { postgresConnections: { used: 91, max: 100 } },
    'connections_exhausted',
    'PostgreSQL has 91 of 100 connections in use.',
  ],
  [
    'the resolvers of one worker fail',
    {
      ofOurResolvers: 1,
      fleet: see(at(100), { ...worker, resolversFailing: true }),
    },
    'resolvers_silent',
    'Our resolvers at worker on host-a couldn’t check 1 domain.',
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

  it.each([
    [
      'Redis is down',
      {
        queueAnswers: false,
        turnAgeSeconds: 500,
        rolesMissing: ['worker'],
        fleet: see(at(96), { ...worker, queueSeenAt: at(0) }),
      },
      'queue_away',
    ],
    ['no worker runs', { rolesMissing: ['worker'], turnAgeSeconds: 500 }, 'no_worker'],
    ['a queue is paused', { queuesPaused: ['check-dns'] }, 'queue_paused'],
  ] as const)('name only the cause when %s and jobs are late', (_when, change, code) => {
    const overdueSeconds = { ...onTime, 'check-dns': 9_000 };
    const tasks = operatorTasksOf({ ...well, overdueSeconds, ...change });
    expect(tasks.map((one) => one.code)).toEqual([code]);
  });

  it('name our resolvers and not the DNS operators whose zones they cannot look up', () => {
    const dnsOperators = [{ operator: 'ns.example', domains: 50 }];
    const tasks = operatorTasksOf({ ...well, dnsOperators, ofOurResolvers: 40 });
    expect(tasks.map(({ code }) => code)).toEqual(['resolvers_silent']);
  });

  it('start with those that stop everything', () => {
    const all = Object.assign({}, well, ...table.map(([, change]) => change)) as Vitals;
    const rolesMissing = ['worker', 'edge'] as const;
    const tasks = operatorTasksOf({ ...all, queueAnswers: true, rolesMissing });
    expect(tasks.slice(0, 2).map(({ code }) => code)).toEqual(['no_worker', 'role_missing']);
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
