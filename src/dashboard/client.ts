/** The dashboard's API client, with its key's permissions, and the paths of its pages. */
import type { z } from 'zod';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import type { ErrorBody } from '../http/pipeline/errors.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { account } from '../http/schemas/accounts.ts';
import type { auditEntry } from '../http/schemas/audit.ts';
import type { domainSettings } from '../http/schemas/domain-settings.ts';
import type { domain, finding, hostnameReading } from '../http/schemas/domains.ts';
import type { escalationList } from '../http/schemas/escalations.ts';
import type { event } from '../http/schemas/events.ts';
import type { key } from '../http/schemas/keys.ts';
import type {
  fleetProcesses,
  foundDomains,
  operationsOverview,
  watchedDomain,
} from '../http/schemas/operations.ts';
import type { project } from '../http/schemas/projects.ts';
import type { session } from '../http/schemas/sessions.ts';
import { nextPathIn } from '../net/next-page.ts';

/** As parsed from JSON: dates are RFC 3339 texts, big integers are numbers. */
export type OnWire<T> = T extends Date
  ? string
  : T extends bigint
    ? number
    : T extends readonly (infer Item)[]
      ? readonly OnWire<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: OnWire<T[Key]> }
        : T;

export type ApiAnswer<T> =
  | {
      readonly ok: true;
      readonly status: number;
      readonly body: T;
      /** The version of `body`, for `ifMatch`; undefined if the operation has none. */
      readonly etag: string | undefined;
      /** Path of a list's next page. */
      readonly next: string | undefined;
    }
  | { readonly ok: false; readonly status: number; readonly error: ErrorBody };

export type ApiClient = {
  /**
   * `path` starts with `/v1`, percent-encoded. `ifMatch`: the `etag` of the version to change. `T`
   * is not checked; without a response body, `body` is undefined.
   */
  readonly call: <T>(
    method: string,
    path: string,
    body?: unknown,
    ifMatch?: string,
  ) => Promise<ApiAnswer<T>>;
  /** A raw response to GET, such as a stream, which the caller must read or discard. */
  readonly pass: (path: string, lastEventId: string | undefined) => Promise<RawResponse>;
};

/** Calls the API in process. `outer`: the request whose ID and address are used. `authorization`: a header's value. `accountId`: whom to act for. */
export function createClient(
  api: Pick<Api, 'handle'>,
  outer: Pick<RawRequest, 'headers' | 'remoteAddress'>,
  authorization: string,
  accountId?: string | undefined,
): ApiClient {
  const { remoteAddress } = outer;
  // Only these headers are forwarded: cookies, Accept and conditions belong to the page.
  const { 'x-request-id': requestId, traceparent } = outer.headers;
  const forwarded = outer.headers['x-forwarded-for'];
  const common = { authorization, 'x-request-id': requestId, traceparent };
  const headers = {
    ...common,
    'x-forwarded-for': forwarded,
    ...(accountId !== undefined && { 'signpost-account': accountId }),
  };
  return {
    async call<T>(
      method: string,
      target: string,
      body?: unknown,
      ifMatch?: string,
    ): Promise<ApiAnswer<T>> {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const response = await api.handle({
        method,
        target,
        headers: {
          ...headers,
          ...(bytes !== undefined && { 'content-type': 'application/json' }),
          ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        },
        readBody: async () => ({ kind: 'bytes', bytes: bytes ?? new Uint8Array() }),
        remoteAddress,
        isOfPage: true,
      });
      const { status } = response;
      const parsed = response.body === null ? undefined : JSON.parse(response.body);
      return status < 400
        ? // Typed by the API's schemas, not checked again.
          {
            ok: true,
            status,
            body: parsed as T,
            etag: response.headers['etag'],
            next: nextPathIn(response.headers['link']),
          }
        : { ok: false, status, error: parsed as ErrorBody };
    },
    pass: (target, lastEventId) =>
      api.handle({
        method: 'GET',
        target,
        headers: { ...headers, 'last-event-id': lastEventId },
        readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
        remoteAddress,
        isOfPage: true,
      }),
  };
}

export type ProjectView = OnWire<z.infer<typeof project>>;
export type Domain = OnWire<z.infer<typeof domain>>;
export type FindingView = OnWire<z.infer<typeof finding>>;
export type Settings = OnWire<z.infer<typeof domainSettings>>;
export type HostnameReading = OnWire<z.infer<typeof hostnameReading>>;
export type Event = OnWire<z.infer<typeof event>>;
/** The session's own key, without its token. */
export type OwnKey = OnWire<z.infer<typeof key>>;
export type AuditView = OnWire<z.infer<typeof auditEntry>>;
export type SessionView = OnWire<z.infer<typeof session>>;
export type AccountView = OnWire<z.infer<typeof account>>;
export type FleetView = OnWire<z.infer<typeof fleetProcesses>>;
export type OverviewView = OnWire<z.infer<typeof operationsOverview>>;
export type FoundDomains = OnWire<z.infer<typeof foundDomains>>;
export type WatchedDomainView = OnWire<z.infer<typeof watchedDomain>>;
export type Escalations = OnWire<z.infer<typeof escalationList>>;

export function projectPath(projectId: string): string {
  return `/projects/${encodeURIComponent(projectId)}`;
}

export function domainPath(projectId: string, hostname: string): string {
  return `${projectPath(projectId)}/domains/${encodeURIComponent(hostname)}`;
}

export function apiPath(path: string): string {
  return `/v1${path}`;
}

export const QUEUES = '/ops/queues';

/** `path`: without base path and query. */
export function isQueuesPath(path: string): boolean {
  return path === QUEUES || path.startsWith(`${QUEUES}/`);
}
