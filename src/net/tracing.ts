/**
 * OpenTelemetry spans; without a registered SDK (`node --import`) every call is a no-op. No span
 * contains a path, a query, a header or a body, which could contain a key.
 */
import { createRequire } from 'node:module';
import {
  type Attributes,
  context,
  isSpanContextValid,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Telemetry } from 'bullmq';

const NAME = 'signpost';
const load = createRequire(import.meta.url);

export function isTracing(): boolean {
  const provider = trace.getTracerProvider();
  return (
    !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(NAME) !== undefined
  );
}

/** Each job runs in a span, in the context that added it. */
export function jobTelemetry(): { readonly telemetry?: Telemetry } {
  if (!isTracing()) return {};
  // Only loaded with an SDK; the package's types describe the result of `require`.
  const { BullMQOtel } = load('bullmq-otel') as typeof import('bullmq-otel');
  return { telemetry: new BullMQOtel({ tracerName: NAME }) };
}

/** Resolves and rejects as `act` does. */
export function inSpan<T>(name: string, attributes: Attributes, act: () => Promise<T>): Promise<T> {
  return trace.getTracer(NAME).startActiveSpan(name, { attributes }, (span) => ended(span, act));
}

const methods: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
]);

export type RequestSpan = {
  /** W3C Trace Context, 3.2; null without tracing. */
  readonly traceparent: string | null;
  /** Names the span by the operation; undefined: no operation has the path. */
  answered(operationId: string | undefined, status: number): void;
};

/** Continues the trace in the request's headers. Resolves and rejects as `act` does. */
export function inRequestSpan<T>(
  { method, headers }: { readonly method: string; readonly headers: object },
  act: (span: RequestSpan) => Promise<T>,
): Promise<T> {
  const parent = propagation.extract(context.active(), headers);
  const known = methods.has(method) ? method : '_OTHER'; // as in OpenTelemetry's conventions
  const attributes = { 'http.request.method': known };
  const options: SpanOptions = { kind: SpanKind.SERVER, attributes };
  return trace
    .getTracer(NAME)
    .startActiveSpan(known, options, parent, (span) =>
      ended(span, () =>
        act({ traceparent: traceparentOf(span), answered: answeredIn(span, known) }),
      ),
    );
}

function answeredIn(span: Span, method: string): RequestSpan['answered'] {
  return (operationId, status) => {
    span.updateName(`${method} ${operationId ?? 'no operation'}`);
    span.setAttribute('http.response.status_code', status);
    if (operationId !== undefined) span.setAttribute('signpost.operation', operationId);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  };
}

function traceparentOf(span: Span): string | null {
  const found = span.spanContext();
  if (!isSpanContextValid(found)) return null;
  const flags = found.traceFlags.toString(16).padStart(2, '0');
  return `00-${found.traceId}-${found.spanId}-${flags}`;
}

/** Only the class of an error: its message can contain anything. */
async function ended<T>(span: Span, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (fault) {
    const type = fault instanceof Error ? fault.name : 'Thrown';
    span.setAttribute('error.type', type);
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw fault;
  } finally {
    span.end();
  }
}
