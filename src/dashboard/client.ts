/** The dashboard as a client of the API: it may do and see what its key may, and nothing beside it; and where its pages are. */
import type { z } from 'zod';
import { ACCOUNT_HEADER } from '../http/keys/act-for.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import type { ErrorBody } from '../http/pipeline/errors.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { Headers } from '../http/pipeline/route.ts';
import type { account } from '../http/schemas/accounts.ts';
import type { domainSettings } from '../http/schemas/domain-settings.ts';
import type { domain, finding, hostnameReading } from '../http/schemas/domains.ts';
import type { escalationList } from '../http/schemas/escalations.ts';
import type { event } from '../http/schemas/events.ts';
import type { key, mintedKey } from '../http/schemas/keys.ts';
import type {
  foundDomains,
  operationsOverview,
  watchedDomain,
} from '../http/schemas/operations.ts';
import type { project } from '../http/schemas/projects.ts';
import type { sessionList } from '../http/schemas/sessions.ts';

/** A value as its JSON reads: dates are RFC 3339, big integers are numbers. */
export type OnWire<T> = T extends Date
  ? string
  : T extends bigint
    ? number
    : T extends readonly (infer Item)[]
      ? readonly OnWire<Item>[]
      : T extends object
        ? { readonly [Key in keyof T]: OnWire<T[Key]> }
        : T;

/** What a call came to; a refusal and a fault of the service are values, too. */
export type Answer<T> =
  | {
      readonly ok: true;
      readonly status: number;
      readonly body: T;
      /** The version that `body` shows, for `ifMatch`; undefined where the operation has none. */
      readonly etag: string | undefined;
    }
  | { readonly ok: false; readonly status: number; readonly error: ErrorBody };

/** A page of a list. */
export type OnePage<T> = { readonly answer: Answer<readonly T[]>; readonly next: string | null };

/** What a call says beside its body. */
export type CallOptions = {
  /** The `etag` of the version that is changed. */
  readonly ifMatch?: string | undefined;
  /** Names the attempt, so that what is sent again is done once. */
  readonly idempotencyKey?: string;
};

/** The API for one key, on behalf of one request. */
export type ApiClient = {
  /**
   * Calls an operation. `path`: from `/v1` on, percent-encoded, perhaps with a query. `body` is sent as JSON;
   * undefined: there is none. `T` is not checked: it has to be what the operation answers with; for an answer without a
   * body, `body` is undefined.
   */
  readonly call: <T>(
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions,
  ) => Promise<Answer<T>>;
  /** One page of a list, and what its next one is asked for with (`cursor`); null: it is the last. */
  readonly page: <T>(path: string) => Promise<OnePage<T>>;
  /** Every page of a list, in one answer: the first refusal instead where one of them is refused. */
  readonly all: <T>(path: string) => Promise<Answer<readonly T[]>>;
  /**
   * The answer to GET as it is, for what is passed on: a stream, which the caller has to read or discard.
   * `lastEventId`: as its reader has sent it.
   */
  readonly pass: (path: string, lastEventId: string | undefined) => Promise<RawResponse>;
};

/** Who calls: a key, for an account or for all that it reaches, perhaps in a session. */
export type Caller = {
  readonly apiKey: string;
  readonly accountId?: string | undefined;
  readonly sessionId?: string;
};

/**
 * A client that calls the API within the process. `outer`: the request that the calls are made for; they are logged
 * by its id, and come from its address. Whether the caller's key works shows at the first call.
 */
export function createClient(
  api: Pick<Api, 'handle'>,
  outer: Pick<RawRequest, 'headers' | 'remoteAddress'>,
  { sessionId, ...caller }: Caller,
): ApiClient {
  const { remoteAddress } = outer;
  const headers = headersOf(outer.headers, caller);
  async function send<T>(
    method: string,
    target: string,
    body?: unknown,
    { ifMatch, idempotencyKey }: CallOptions = {},
  ): Promise<{ readonly answer: Answer<T>; readonly next: string | null }> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const response = await api.handle({
      method,
      target,
      headers: {
        ...headers,
        ...(bytes !== undefined && { 'content-type': 'application/json' }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      readBody: async () => ({ kind: 'bytes', bytes: bytes ?? new Uint8Array() }),
      remoteAddress,
      sessionId,
      isOfPage: true,
    });
    const { status } = response;
    const parsed = response.body === null ? undefined : JSON.parse(response.body);
    if (status >= 400)
      return { answer: { ok: false, status, error: parsed as ErrorBody }, next: null };
    // The API's own answer; its document says what is in it.
    const answer = { ok: true, status, body: parsed as T, etag: response.headers['etag'] } as const;
    return { answer, next: cursorIn(response.headers['link']) };
  }

  return {
    all: (path) => everyPage(send, path),
    page: (path) => send('GET', path),
    async call<T>(...sent: readonly [string, string, unknown?, CallOptions?]): Promise<Answer<T>> {
      return (await send<T>(...sent)).answer;
    },
    pass: (target, lastEventId) =>
      api.handle({
        method: 'GET',
        target,
        headers: { ...headers, 'last-event-id': lastEventId },
        readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
        remoteAddress,
        sessionId,
        isOfPage: true,
      }),
  };
}

/** Of the page's request only these go on: the browser's cookies, its Accept and its conditions are about the page. */
function headersOf(outer: Headers, { apiKey, accountId }: Caller): Headers {
  return {
    authorization: `Bearer ${apiKey}`,
    'x-request-id': outer['x-request-id'],
    traceparent: outer['traceparent'],
    'x-forwarded-for': outer['x-forwarded-for'],
    // What a person did is theirs in the audit log, by their browser.
    'user-agent': outer['user-agent'],
    ...(accountId !== undefined && { [ACCOUNT_HEADER]: accountId }),
  };
}

type Send = <T>(
  method: string,
  target: string,
) => Promise<{ readonly answer: Answer<T>; readonly next: string | null }>;

async function everyPage<T>(send: Send, path: string): Promise<Answer<readonly T[]>> {
  const items: T[] = [];
  let cursor = '';
  for (;;) {
    const { answer, next } = await send<readonly T[]>('GET', `${path}${cursor}`);
    if (!answer.ok) return answer;
    items.push(...answer.body);
    if (next === null) return { ...answer, body: items };
    cursor = `${path.includes('?') ? '&' : '?'}cursor=${next}`;
  }
}

/** Of the link to the page that follows; null where there is none. */
function cursorIn(link = ''): string | null {
  return /[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link)?.[1] ?? null;
}

/** A project as the API answers with it; this and the types below have no other source than the API's schemas. */
export type Project = OnWire<z.infer<typeof project>>;
/** A domain of a project, with its findings and its certificate. */
export type Domain = OnWire<z.infer<typeof domain>>;
/** One thing worth saying about the DNS of a domain. */
export type Finding = OnWire<z.infer<typeof finding>>;
/** Which of a project's domains is the primary one, and which redirect. */
export type Settings = OnWire<z.infer<typeof domainSettings>>;
/** How a host name that was typed is read. */
export type HostnameReading = OnWire<z.infer<typeof hostnameReading>>;
/** One event of a timeline. */
export type Event = OnWire<z.infer<typeof event>>;
/** The key that a call is made with, without its token. */
export type OwnKey = OnWire<z.infer<typeof key>>;
/** A key that was just made, with its token. */
export type MintedKey = OnWire<z.infer<typeof mintedKey>>;
/** A customer of the platform. */
export type Account = OnWire<z.infer<typeof account>>;
/** Sessions that are open, the newest first. */
export type OpenSessions = OnWire<z.infer<typeof sessionList>>;
/** What operators see first: what to put right, and the figures behind it. */
export type Overview = OnWire<z.infer<typeof operationsOverview>>;
/** Domains of all projects that a search found. */
export type FoundDomains = OnWire<z.infer<typeof foundDomains>>;
/** A domain as operators see it, with its jobs and its timeline. */
export type WatchedDomain = OnWire<z.infer<typeof watchedDomain>>;
/** Escalations of all projects, the newest first. */
export type Escalations = OnWire<z.infer<typeof escalationList>>;

/** Where the pages of a project begin: `/projects/…`. */
export function projectPath(projectId: string): string {
  return `/projects/${encodeURIComponent(projectId)}`;
}

/** The page of a domain, whose own pages are below it. */
export function domainPath(projectId: string, hostname: string): string {
  return `${projectPath(projectId)}/domains/${encodeURIComponent(hostname)}`;
}

/** The same path in the API, which has projects and domains at the same places. */
export function apiPath(path: string): string {
  return `/v1${path}`;
}

/** Where the queues are looked into, below the base path. */
export const QUEUES = '/ops/queues';

/** Whether a path is the board's page or below it. `path`: without the base path and the query. */
export function isQueuesPath(path: string): boolean {
  return path === QUEUES || path.startsWith(`${QUEUES}/`);
}
