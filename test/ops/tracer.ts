/** A minimal OpenTelemetry SDK: spans in memory, contexts in an AsyncLocalStorage. */
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
  type SpanOptions,
  type TextMapPropagator,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';

export type KeptSpan = {
  name: string;
  readonly kind: number | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly attributes: Attributes;
  ended: boolean;
};

/** Registers itself; `stop` removes it. */
export function startTracer(): { readonly spans: readonly KeptSpan[]; stop(): void } {
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
