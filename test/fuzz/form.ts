/** Checks the form of a response, on the wire or not. */
import { PAGE_POLICY } from '../../src/dashboard/layout.ts';
import { errors } from '../../src/http/pipeline/errors.ts';

export type Formed = {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  /** Octets. */
  readonly body: string;
};

const statuses: ReadonlyMap<string, number> = new Map(
  Object.entries(errors).map(([code, [status]]) => [code, status]),
);

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]$/; // W3C Trace Context, 3.2

/** The form error of a response, or null. Server errors count: no input justifies one. */
export function formProblem(answer: Formed, isToHead: boolean): string | null {
  const { status, fields, body } = answer;
  if (status < 200) return status === 100 && fields.size === 0 ? null : `${status} with fields`;
  if (status >= 500) return `${status} ${body}`;
  const problem = traceProblem(answer);
  if (problem !== null) return problem;
  if (isPage(answer)) return pageProblem(answer, isToHead);
  if (status < 400) return successes.has(status) ? null : `${status}`;
  return errorProblem(answer, isToHead);
}

/** The dashboard is not part of the OpenAPI document: recognized by its content security policy. */
export function isPage({ fields }: Pick<Formed, 'fields'>): boolean {
  return fields.get('content-security-policy') === PAGE_POLICY;
}

function pageProblem({ status, body }: Formed, isToHead: boolean): string | null {
  return isToHead && body !== '' ? `${status} to HEAD with a body` : null;
}

const successes: ReadonlySet<number> = new Set([200, 201, 202, 204, 304]); // docs/integrate/api.md

function traceProblem({ status, fields }: Formed): string | null {
  const requestId = fields.get('x-request-id') ?? '';
  if (!/^[\w.-]{1,64}$/.test(requestId)) return `${status} with X-Request-Id: ${requestId}`;
  const traceparent = fields.get('traceparent') ?? '';
  return TRACEPARENT.test(traceparent) ? null : `${status} with traceparent: ${traceparent}`;
}

/** No body for HEAD, otherwise the Error as JSON. */
function errorProblem({ status, fields, body }: Formed, isToHead: boolean): string | null {
  if (isToHead) return body === '' ? null : `${status} to HEAD with a body`;
  if (!/^application\/json/.test(fields.get('content-type') ?? '')) return `${status} without JSON`;
  return isError(status, body) ? null : `${status} whose body is no Error: ${body.slice(0, 200)}`;
}

/** `{code, message, status, errors?, requestId, docs}`, with a code of src/http/pipeline/errors.ts. */
function isError(status: number, body: string): boolean {
  let error: unknown;
  try {
    error = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
  } catch {
    return false;
  }
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, status: claimed, ...rest } = error as Record<string, unknown>; // objects have string keys
  const { errors: fields = [], requestId, docs, ...more } = rest;
  const isKnown = typeof code === 'string' && statuses.get(code) === status && claimed === status;
  const hasMessage = typeof message === 'string' && message !== '';
  const isTraced = typeof requestId === 'string' && /^[\w.-]{1,64}$/.test(requestId);
  const isDocumented = typeof docs === 'string' && docs.endsWith(`/docs/errors#${code}`);
  const hasFields = Array.isArray(fields) && fields.length <= 20 && fields.every(isFieldError);
  const isWhole = isTraced && isDocumented && hasFields && Object.keys(more).length === 0;
  return isKnown && hasMessage && isWhole;
}

function isFieldError(one: unknown): boolean {
  if (typeof one !== 'object' || one === null) return false;
  const { field, code, message, ...more } = one as Record<string, unknown>; // objects have string keys
  const areTexts = [code, message].every((text) => typeof text === 'string' && text !== '');
  // A parameter can have an empty name: `?=1`.
  return typeof field === 'string' && areTexts && Object.keys(more).length === 0;
}
