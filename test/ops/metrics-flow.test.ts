/** Scrapes the API with the token and with keys. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram, lacks } from '../support/programs.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

const METRICS_TOKEN = 'a-token-for-metrics-alone';
const name = storages.findLast(({ available }) => available)?.name ?? 'embedded';
let fresh: FreshStorage;
let service: RunningService;
let scrape = '';

const value = (series: string) => {
  const line = scrape.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
};
const read = (authorization: string) =>
  fetch(`${service.world.apiUrl}/metrics`, { headers: { authorization } });

beforeAll(async () => {
  fresh = await freshStorage(name);
  service = await startService({
    storage: fresh.storage,
    ca: 'local authority',
    env: { METRICS_TOKEN },
  });
  const { client, world, signpost } = service;
  const { record } = await client.addDomain();
  await until('a finding', async () => (await client.domain()).findings.length > 0);
  await world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await client.domain()).status === 'live');
  await visitDomain(world, await world.rootCertificates(signpost.service.rootCertificate));
  scrape = await (await read(`Bearer ${METRICS_TOKEN}`)).text();
}, 180_000);
afterAll(async () => {
  await service?.close();
  await fresh?.close();
});

describe(`The metrics of a domain’s life on ${name}`, () => {
  it('count its checks, its finding and the time until its record was seen', () => {
    expect(value('signpost_checks_total{verdict="wrong"}')).toBeGreaterThan(0);
    expect(value('signpost_checks_total{verdict="right"}')).toBeGreaterThan(0);
    expect(value('signpost_findings_appeared_total{code="record_missing"}')).toBe(1);
    expect(value('signpost_verification_unseen_seconds_count')).toBe(1);
    expect(
      value('signpost_dns_questions_total{operator="other",outcome="answered"}'),
    ).toBeGreaterThan(0);
  });

  it('count its jobs and its one order', () => {
    expect(value('signpost_jobs_total{queue="check-dns",outcome="done"}')).toBe(1);
    expect(value('signpost_jobs_total{queue="issue-certificate",outcome="fault"}')).toBe(0);
    expect(value('signpost_certificate_orders_total{outcome="issued"}')).toBe(1);
    expect(value('signpost_certificate_wait_seconds_count')).toBe(1);
  });

  it('count its visitor at the edge and its customer’s requests', () => {
    expect(value('signpost_edge_requests_total{port="https",status="2xx"}')).toBe(1);
    expect(value('signpost_edge_handshakes_total{outcome="completed"}')).toBe(1);
    expect(value('signpost_http_requests_total{operation="addDomain",status="201"}')).toBe(1);
    expect(value('signpost_database_pool_wait_seconds_count')).toBeGreaterThan(0);
  });

  it('describe the state of the installation', () => {
    expect(value('signpost_domains{status="live"}')).toBe(1);
    expect(value('signpost_domains{status="pending"}')).toBe(0);
    expect(value('signpost_certificates{days_left="more"}')).toBe(1);
    expect(value('signpost_certificate_soonest_end_seconds')).toBeGreaterThan(86_400);
    expect(value('signpost_overdue_seconds{queue="check-dns"}')).toBe(0);
    expect(value('signpost_queue_jobs{queue="recheck-live",state="delayed"}')).toBeDefined();
    expect(value('signpost_reconciler_turn_age_seconds')).toBeLessThan(60);
    expect(value('signpost_repairs_total{kind="missing_job"}')).toBe(0);
    expect(value('signpost_state_readable{source="queue"}')).toBe(1);
  });

  it('contain no host, project or key', async () => {
    const { world, client } = service;
    const [, projectId = '?'] = /projects\/([^/]+)/.exec(client.domainPath) ?? [];
    for (const private_ of [world.hostname, world.zone, projectId, world.apiKey, METRICS_TOKEN]) {
      expect(scrape).not.toContain(private_);
    }
  });

  it('are readable with the token and with keys that read operations only', async () => {
    const { world, client } = service;
    expect((await read(`Bearer ${world.apiKey}`)).status).toBe(200);
    expect((await read('Bearer not-a-token-of-anybody')).status).toBe(401);
    expect((await fetch(`${world.apiUrl}/metrics`)).status).toBe(401);
    const other = { headers: { authorization: `Bearer ${METRICS_TOKEN}` } };
    expect((await fetch(world.apiUrl + client.domainPath, other)).status).toBe(401);
  });

  it.skipIf(lacks('promtool', 'a scrape by promtool'))('pass the Prometheus linter', () => {
    const promtool = findProgram('promtool') ?? '';
    const options = { input: scrape, encoding: 'utf8', stdio: 'pipe' } as const;
    expect(execFileSync(promtool, ['check', 'metrics'], options)).toBe('');
  });
});
