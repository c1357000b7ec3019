import { SpanKind } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { isTracing, jobTelemetry } from '../../src/net/tracing.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';
import { type KeptSpan, startTracer } from './tracer.ts';

const closings = closeAfterEach();
const quickest = storages.findLast(({ available }) => available)?.name ?? 'embedded';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

async function start(): Promise<RunningService> {
  const fresh: FreshStorage = await freshStorage(quickest);
  closings.push(fresh.close);
  const service = await startService({ storage: fresh.storage, ca: 'local authority' });
  closings.push(service.close);
  return service;
}

/** Adds the domain to a project as a tracing caller once its zone is complete. */
async function addTraced({ world, client, signpost }: RunningService) {
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' };
  const { body } = await client.call('POST', '/v1/projects', project);
  const { id } = body as { id: string };
  const deploy = { status: 'succeeded', upstream: world.upstream };
  await client.call('POST', `/v1/projects/${id}/deploys`, deploy);
  const target = signpost.service.targetFor(id, world.hostname);
  await world.publish([`docs CNAME ${target}.`]);
  const path = `/v1/projects/${id}/domains`;
  const answered = await fetch(world.apiUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.apiKey}`,
      'content-type': 'application/json',
      traceparent: `00-${TRACE}-${CALLER}-01`,
    },
    body: JSON.stringify({ hostname: world.hostname }),
  });
  const isLive = async () => {
    const shown = await client.call('GET', `${path}/${world.hostname}`);
    return (shown.body as { status: string }).status === 'live';
  };
  return { answered, isLive };
}

describe(`Tracing with an SDK, on ${quickest}`, () => {
  it('connects a request and its follow-up jobs in one trace', async () => {
    const { spans, stop } = startTracer();
    closings.push(stop);
    const service = await start();
    const { answered, isLive } = await addTraced(service);
    expect(answered.status).toBe(201);
    await until('live', isLive);
    const ours = spans.filter(({ traceId }) => traceId === TRACE);
    const byId = new Map(ours.map((span) => [span.spanId, span]));
    const find = (name: string) => ours.find((span) => span.name === name);

    const request = find('POST addDomain');
    expect(request).toMatchObject({ kind: SpanKind.SERVER, parentId: CALLER, ended: true });
    expect(request?.attributes).toMatchObject({ 'http.response.status_code': 201 });
    expect(answered.headers.get('traceparent')).toBe(`00-${TRACE}-${request?.spanId}-01`);

    /** The names from a span up to the request. */
    const wayUp = (span: KeptSpan | undefined): string[] =>
      span === undefined ? [] : [span.name, ...wayUp(byId.get(span.parentId ?? ''))];
    for (const name of ['check-dns', 'observe the DNS', 'issue-certificate', 'advance order']) {
      expect(wayUp(find(name)).at(-1), name).toBe('POST addDomain');
    }
    expect(wayUp(find('observe the DNS'))).toContain('check-dns');
    expect(wayUp(find('advance order'))).toContain('issue-certificate');
    const { id } = (await service.signpost.service.database.prisma.domain.findFirst()) ?? {};
    expect(find('check-dns')?.attributes).toMatchObject({ 'signpost.domain.id': id });
  }, 180_000);

  it('keeps keys, paths and hosts out of spans', async () => {
    const { spans, stop } = startTracer();
    closings.push(stop);
    const service = await start();
    await until('live', (await addTraced(service)).isLive);
    const said = JSON.stringify(spans);
    expect(spans.length).toBeGreaterThan(10);
    const { apiKey, hostname } = service.world;
    for (const secret of [apiKey, hostname, '/v1/', 'Bearer']) expect(said).not.toContain(secret);
  }, 180_000);
});

describe('Tracing without an SDK', () => {
  it('creates no spans and passes no telemetry to queues', () => {
    expect(isTracing()).toBe(false);
    expect(jobTelemetry()).toEqual({});
  });

  it('still continues the caller’s trace in the response', async () => {
    const service = await start();
    const { answered } = await addTraced(service);
    expect(answered.headers.get('traceparent')).toMatch(new RegExp(`^00-${TRACE}-\\w{16}-01$`));
    expect(answered.headers.get('traceparent')).not.toContain(CALLER);
  }, 180_000);
});
