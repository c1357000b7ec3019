/**
 * The same API in this process: requests as values; responses are checked for form and
 * documentation.
 */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import { anywhere, refusalsOf } from '../../src/http/openapi/refusals.ts';
import type { Api, RawRequest } from '../../src/http/pipeline/api.ts';
import type { BodyRead } from '../../src/http/pipeline/body.ts';
import { type ErrorCode, errors } from '../../src/http/pipeline/errors.ts';
import type { RawResponse } from '../../src/http/pipeline/render.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { createRouter, type Router } from '../../src/http/pipeline/router.ts';
import { routesOf } from '../../src/http/routes/every-route.ts';
import { startSignpost } from '../../src/start.ts';
import { storageOf } from '../process/support.ts';
import { bodyFields, fields } from './fields.ts';
import { formProblem, isPage } from './form.ts';
import { type Known, makeKnown } from './known.ts';
import { utf8 } from './octets.ts';
import { operations } from './operations.ts';

export type SocketlessApi = {
  readonly known: Known;
  /** Returns the problem of the response, or null; rejects when the API does. */
  problemWith(raw: RawRequest): Promise<string | null>;
  close(): Promise<void>;
};

export async function startSocketlessApi(): Promise<SocketlessApi> {
  const storage = await storageOf();
  const limits = { RATE_LIMIT_PER_KEY: '100000000', RATE_LIMIT_PER_ADDRESS: '100000000' };
  const admin = `fuzz-${randomBytes(16).toString('hex')}`;
  const result = loadConfig({ ...storage.env, ...limits, ROLE: 'api', PORT: '0', API_KEY: admin });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const { api, service, close } = await startSignpost(result.config, pino({ level: 'silent' }));
  if (api === null) throw new Error('this process has no API');
  const notAsked = () => Promise.reject(new Error('these routes are not asked'));
  const unused = {
    readiness: notAsked,
    dropTraffic: () => {},
    forget: () => {},
    openStream: notAsked,
  };
  const find = createRouter(routesOf(service, unused));
  return {
    known: await makeKnown(admin, (method, path, body) => call(api, admin, method, path, body)),
    async problemWith(raw) {
      const answer = await api.handle(raw);
      answer.stream?.discard();
      const form = { ...answer, fields: new Map(Object.entries(answer.headers)) };
      const isToHead = raw.method === 'HEAD';
      return (
        formProblem({ ...form, body: utf8(answer.body ?? '') }, isToHead) ??
        (isPage(form) ? null : documentedProblem(find, raw, answer))
      );
    },
    async close() {
      await close(5_000);
      await storage.close();
    },
  };
}

async function call(api: Api, key: string, method: string, target: string, body?: object) {
  const bytes = new TextEncoder().encode(JSON.stringify(body ?? null));
  const { status, body: text } = await api.handle({
    method,
    target,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    readBody: async () => ({ kind: 'bytes', bytes }),
    remoteAddress: '127.0.0.1',
  });
  if (status >= 400) throw new Error(`${method} ${target}: ${text}`);
  return text === null ? null : JSON.parse(text);
}

/** Checks that the OpenAPI document lists such a response. */
function documentedProblem(
  find: Router,
  { method, target }: RawRequest,
  { status, body }: RawResponse,
): string | null {
  const found = find(method, target);
  const route = found.kind === 'route' ? found.route : null;
  const isListed = status < 400 ? isSuccess(route, method, status) : isRefusal(route, status, body);
  return isListed ? null : `${status} ${body} of ${route?.operationId ?? 'nothing'}`;
}

function isSuccess(route: Route | null, method: string, status: number): boolean {
  if (route === null) return method === 'OPTIONS' && status === 204;
  return status === route.success.status || (route.method === 'GET' && status === 304);
}

function isRefusal(route: Route | null, status: number, body: string | null): boolean {
  const own: readonly ErrorCode[] =
    route === null ? ['bad_request'] : (refusalsOf(route).get(status) ?? []);
  const listed = [...anywhere, ...own].filter((code) => errors[code][0] === status);
  // A response to HEAD shows its status only.
  return body === null ? listed.length > 0 : listed.includes(JSON.parse(body).code);
}

const bytesOf = (octets: string) => new Uint8Array(Buffer.from(octets, 'latin1'));

/** Valid, nearly valid and wrong requests, as in the run over sockets. */
export function likelyRequests(known: Known): fc.Arbitrary<RawRequest> {
  return fc
    .record({ operation: operations(known), lines: fields(known), bodyLines: bodyFields })
    .map(({ operation: { method, target, body }, lines, bodyLines }) => ({
      method,
      target,
      headers: headersOf(body === null ? lines : [...lines, ...bodyLines]),
      readBody: async () => ({ kind: 'bytes', bytes: bytesOf(body ?? '') }),
      remoteAddress: '127.0.0.1',
    }));
}

/** As in node:http: names in lower case, repeated fields joined. */
function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines.flatMap((one) => one.split('\r\n'))) {
    const [, name = '', value = ''] = /^([^:]+):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? [];
    const before = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}

const reads: fc.Arbitrary<BodyRead> = fc.oneof(
  fc.uint8Array().map((bytes) => ({ kind: 'bytes', bytes }) as const),
  fc.json().map((text) => ({ kind: 'bytes', bytes: bytesOf(utf8(text)) }) as const),
  fc.constant({ kind: 'too_large' } as const),
  fc
    .constantFrom('bad_request', 'request_timeout', 'body_too_large')
    .map((code) => ({ kind: 'broken', code }) as const),
);

/** Anything that the types allow, much of which cannot arrive over a socket. */
export function wildRequests({ keys, keyIds, projectIds }: Known): fc.Arbitrary<RawRequest> {
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  const paths = ['/v1/pets', '/v1/pets/1', '/v1/projects', '/v1/keys', '*', '/readyz'];
  const ids = [...projectIds, ...keyIds].flatMap((id) => [`/v1/projects/${id}`, `/v1/keys/${id}`]);
  const names = ['idempotency-key', 'if-none-match', 'content-type', 'x-request-id', 'origin'];
  const name = fc.oneof(fc.constantFrom(...names, 'traceparent', 'x-forwarded-for'), text);
  return fc
    .record({
      method: fc.oneof(fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'), text),
      target: fc.oneof(
        fc.constantFrom(...paths, ...ids),
        fc.tuple(fc.constantFrom(...paths, ...ids), text).map((service) => service.join('')),
        fc.webUrl(),
        text,
      ),
      headers: fc.dictionary(name, text, { maxKeys: 4 }),
      key: fc.constantFrom(...Object.values(keys)),
      read: reads,
      remoteAddress: fc.constantFrom('127.0.0.1', '::1', 'nowhere', undefined),
    })
    .map(({ headers, key, read, ...rest }) => ({
      ...rest,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      readBody: async () => read,
    }));
}
