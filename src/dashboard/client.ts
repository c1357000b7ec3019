/** The dashboard as a client of the API: it may do and see what its key may, and nothing beside it. */

import type { z } from 'zod';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import type { ErrorBody } from '../http/pipeline/errors.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { domainSettings } from '../http/schemas/domain-settings.ts';
import type { domain, finding, hostnameReading } from '../http/schemas/domains.ts';
import type { escalationList } from '../http/schemas/escalations.ts';
import type { event } from '../http/schemas/events.ts';
import type { key } from '../http/schemas/keys.ts';
import type {
  foundDomains,
  operationsOverview,
  watchedDomain,
} from '../http/schemas/operations.ts';
import type { project } from '../http/schemas/projects.ts';

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

export type Answer<T> =
  | {
      readonly ok: true;
      readonly status: number;
      readonly body: T;
      readonly etag: string | undefined;
    }
  | { readonly ok: false; readonly status: number; readonly error: ErrorBody };

export type ApiClient = {
  /**
   * `path`: from `/v1` on, percent-encoded, perhaps with a query. What the answer holds is the caller's to say. `ifMatch`: the
   * `etag` of the version that is changed.
   */
  readonly call: <T>(
    method: string,
    path: string,
    body?: unknown,
    ifMatch?: string,
  ) => Promise<Answer<T>>;
  /** The answer as it is, for what is passed on: a stream. `lastEventId` as its reader sends it. */
  readonly pass: (path: string, lastEventId: string | undefined) => Promise<RawResponse>;
};

/** `outer`: the request that the calls are made for; they are logged by its id, and counted with it. */
export function createClient(
  api: Pick<Api, 'handle'>,
  outer: Pick<RawRequest, 'headers' | 'remoteAddress'>,
  apiKey: string,
): ApiClient {
  const { remoteAddress } = outer;
  const { 'x-request-id': requestId, traceparent } = outer.headers;
  const forwarded = outer.headers['x-forwarded-for'];
  const authorization = `Bearer ${apiKey}`;
  const common = { authorization, 'x-request-id': requestId, traceparent };
  const headers = { ...common, 'x-forwarded-for': forwarded };
  return {
    async call<T>(
      method: string,
      target: string,
      body?: unknown,
      ifMatch?: string,
    ): Promise<Answer<T>> {
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
        ? // The API's own answer; its document says what is in it.
          { ok: true, status, body: parsed as T, etag: response.headers['etag'] }
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

export type Project = OnWire<z.infer<typeof project>>;
export type Domain = OnWire<z.infer<typeof domain>>;
export type Finding = OnWire<z.infer<typeof finding>>;
export type Settings = OnWire<z.infer<typeof domainSettings>>;
export type HostnameReading = OnWire<z.infer<typeof hostnameReading>>;
export type Event = OnWire<z.infer<typeof event>>;
export type OwnKey = OnWire<z.infer<typeof key>>;
export type Overview = OnWire<z.infer<typeof operationsOverview>>;
export type FoundDomains = OnWire<z.infer<typeof foundDomains>>;
export type WatchedDomain = OnWire<z.infer<typeof watchedDomain>>;
export type Escalations = OnWire<z.infer<typeof escalationList>>;
