import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  type TextMapPropagator,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { isTracing, jobTelemetry } from '../../src/net/tracing.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

/* A minimal OpenTelemetry SDK: spans in memory, contexts in an AsyncLocalStorage. */

type KeptSpan = {
  name: string;
  readonly kind: number | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly attributes: Attributes;
  ended: boolean;
};

/** Registers itself; `stop` removes it. */
function startTracer(): { readonly spans: readonly KeptSpan[]; stop(): void } {
  const spans: KeptSpan[] = [];
  const tracer = createTracer(spans);
  context.setGlobalContextManager(contextManager());
  propagation.setGlobalPropagator(propagator);
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  return {
    spans,
    stop() {
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}

function createTracer(spans: KeptSpan[]): Tracer {
  function startSpan(name: string, options: SpanOptions = {}, within = context.active()): Span {
    const parent = options.root ? undefined : trace.getSpanContext(within);
    const kept: KeptSpan = {
      name,
      kind: options.kind,
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      parentId: parent?.spanId ?? null,
      attributes: { ...options.attributes },
      ended: false,
    };
    spans.push(kept);
    return keeping(kept);
  }
  const startActiveSpan = (name: string, ...rest: readonly unknown[]) => {
    const act = rest.at(-1) as (span: Span) => unknown; // every overload ends with it
    const [options, within = context.active()] = rest.slice(0, -1) as [SpanOptions?, Context?];
    const span = startSpan(name, options, within);
    return context.with(trace.setSpan(within, span), () => act(span));
  };
  return { startSpan, startActiveSpan: startActiveSpan as Tracer['startActiveSpan'] };
}

function keeping(kept: KeptSpan): Span {
  const { traceId, spanId } = kept;
  const span: Span = {
    spanContext: () => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED }),
    setAttribute: (name, value) => span.setAttributes({ [name]: value }),
    setAttributes(attributes) {
      Object.assign(kept.attributes, attributes);
      return span;
    },
    addEvent: () => span,
    addLink: () => span,
    addLinks: () => span,
    setStatus: () => span,
    updateName(name) {
      kept.name = name;
      return span;
    },
    end() {
      kept.ended = true;
    },
    isRecording: () => !kept.ended,
    recordException: () => undefined,
  };
  return span;
}

function contextManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, act, self, ...args) => storage.run(active, () => act.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  return manager;
}

/** `traceparent` alone (W3C Trace Context, 3.2). */
const propagator: TextMapPropagator = {
  fields: () => ['traceparent'],
  inject(from, carrier, { set }) {
    const span = trace.getSpanContext(from);
    if (span) set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`);
  },
  extract(into, carrier, { get }) {
    const [, traceId, spanId] =
      /^00-(\w{32})-(\w{16})-/.exec(`${get(carrier, 'traceparent')}`) ?? [];
    if (traceId === undefined || spanId === undefined) return into;
    const parent: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return trace.setSpanContext(into, parent);
  },
};

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
