import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { queueNames } from '../../src/core/operations/jobs.ts';
import { roleNames } from '../../src/core/operations/roles.ts';
import { thresholds } from '../../src/core/operations/thresholds.ts';
import { createMetrics } from '../../src/ops/metrics/metrics.ts';
import { findProgram, lacks } from '../support/programs.ts';
import { noState } from './support.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/run/monitoring.md');
const runbooks = read('docs/run/runbooks.md');
const rules = read('deploy/prometheus/alerts.yml');

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
};
const { panels } = JSON.parse(read('deploy/grafana/signpost.json')) as { panels: Panel[] };
const dashboard = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** The declared metrics that a text names. */
const namedIn = (text: string) => [
  ...new Set(
    [...text.matchAll(/\b(?:signpost|process)_[a-z_]+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
];

const metrics = createMetrics(roleNames);
metrics.process.watchPool({ totalCount: 0, idleCount: 0, waitingCount: 0 });
metrics.process.watchReadiness(async () => ({ status: 'ready', dependencies: {}, missing: [] }));
metrics.watchInstallation(noState);
afterAll(() => metrics.close());
const exported = async () =>
  [...(await metrics.text()).matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);

describe('The exported metrics', () => {
  it('include everything that the alerts and the dashboard use', async () => {
    const names = await exported();
    const exprs = [...rules.matchAll(/expr: ([\s\S]*?)\n {8}\w/g)].map(([, expr = '']) => expr);
    expect(exprs.length).toBeGreaterThan(10);
    for (const name of namedIn([...exprs, ...dashboard].join('\n'))) expect(names).toContain(name);
  });

  it('are all on the dashboard', async () => {
    expect(namedIn(dashboard.join('\n')).toSorted()).toEqual((await exported()).toSorted());
  });
});

it('every panel of the dashboard has its own id', () => {
  const ids = panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

describe('Every alert', () => {
  const alerts = [...rules.matchAll(/alert: (\w+)[\s\S]*?runbook_url: "(\S+)"/g)];

  it('is on the monitoring page and has a runbook of its name', () => {
    expect(alerts.length).toBe(rules.match(/alert:/g)?.length);
    for (const [, name = '', runbook = ''] of alerts) {
      expect(page).toContain(`\`${name}\``);
      expect(runbooks).toMatch(new RegExp(`^## ${name}$`, 'm'));
      const link = `https://signpost.example/docs/run/runbooks.md#${name.toLowerCase()}`;
      expect(runbook).toBe(link);
    }
  });

  it('is tested by promtool', () => {
    const tested = read('deploy/prometheus/alerts.test.yml');
    for (const [, name = ''] of alerts) expect(tested).toContain(`alertname: ${name}\n`);
  });

  const exprOf = (name: string) =>
    new RegExp(`alert: ${name}\\n +expr: ["'](.*)["']`).exec(rules)?.[1] ?? '';

  it.each([
    ['SignpostNoWorker', thresholds.turnAgeSeconds],
    ['SignpostChecksUnknown', thresholds.unknownShare],
    ['SignpostRedisMemory', thresholds.redisMemoryShare],
    ['SignpostPostgresConnections', thresholds.postgresConnectionsShare],
  ])('%s fires from the same value as the task of /ops: %d', (name, value) => {
    expect(exprOf(name)).toMatch(new RegExp(`> ${value}$`));
  });

  it.each(['SignpostChecksLate', 'SignpostSweepsLate'])(
    '%s names the queues that are late after its time',
    (name) => {
      const [, names = '', seconds] = /queue=~"([^"]+)".* > (\d+)$/.exec(exprOf(name)) ?? [];
      const late = queueNames.filter((one) => thresholds.overdueSeconds[one] === Number(seconds));
      expect(names.split('|')).toEqual(late);
      expect(late.length).toBeGreaterThan(0);
    },
  );
});

describe.skipIf(lacks('promtool', 'alert rules by promtool'))('promtool', () => {
  const promtool = (args: readonly string[], input?: string) =>
    execFileSync(findProgram('promtool') ?? '', args, { input, encoding: 'utf8', stdio: 'pipe' });
  const path = (name: string) => fileURLToPath(new URL(name, root));

  it('accepts the rules', () => {
    expect(promtool(['check', 'rules', path('deploy/prometheus/alerts.yml')])).toContain('SUCCESS');
  });

  it('confirms that alerts fire exactly when they should', () => {
    const file = path('deploy/prometheus/alerts.test.yml');
    expect(promtool(['test', 'rules', file])).toContain('SUCCESS');
  });

  it('can parse every expression of the dashboard', () => {
    const folder = mkdtempSync(join(tmpdir(), 'signpost-rules-'));
    const file = join(folder, 'dashboard.yml');
    const records = dashboard.map((expr, index) => ({
      record: `panel:${index}`,
      // Grafana variables.
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: records }] }));
    try {
      expect(promtool(['check', 'rules', file])).toContain(`${records.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('accepts the metric names and types', async () => {
    expect(promtool(['check', 'metrics'], await metrics.text())).toBe('');
  });
});
