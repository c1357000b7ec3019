/** A route is a value; a handler takes a parsed request and returns an answer, so both are called without a socket. */
import { z } from 'zod';
import { refuse } from './errors.ts';
import { validate } from './validate.ts';

/** What a key may do; `admin` implies all the others. */
export const scopes = [
  'pets:read',
  'pets:write',
  'domains:read',
  'domains:write',
  'ops:read',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Header names are lower case, in requests and in answers. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Who is asking, once the bearer key has been recognised. */
export type ApiKeyIdentity = { readonly id: string; readonly scopes: readonly Scope[] };

/**
 * A request that has passed everything that can be refused without its resource. `body` and `query` are
 * what the route's schemas made of them; without a schema, `body` is undefined and `query` is empty.
 */
export type ApiRequest<
  Body = unknown,
  Query = unknown,
  Params = Readonly<Record<string, string>>,
> = {
  /** Percent-decoded, one for each `:name` of the path. */
  readonly params: Params;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  /** Null only on a route whose scope is null. */
  readonly key: ApiKeyIdentity | null;
  readonly requestId: string;
};

/**
 * `body` is rendered as JSON (bigint as digits, Date as RFC 3339); `text` is sent as it is, as JSON unless
 * `content-type` says otherwise. Neither: an answer without a body.
 */
export type ApiResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A route as the API sees it: `handle` validates query and body first, and refuses what does not fit. */
export type Route = {
  readonly method: Method;
  readonly path: string;
  /** Null: anybody may call it, without a key. */
  readonly scope: Scope | null;
  readonly operationId: string;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
};

/** `'/v1/projects/:projectId/domains/:hostname'` gives `'projectId' | 'hostname'`. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type PathParams<Path extends string> = Readonly<Record<ParamNames<Path>, string>>;

type Declaration<Path extends string, Body, Query> = {
  readonly method: Method;
  readonly path: Path;
  readonly scope: Scope | null;
  readonly operationId: string;
  /** Of a strict object of strings; without it, every query parameter is refused. */
  readonly query?: z.ZodType<Query>;
  /** Without it, a body is neither read nor parsed. */
  readonly body?: z.ZodType<Body>;
  readonly handle: (request: ApiRequest<Body, Query, PathParams<Path>>) => Promise<ApiResponse>;
};

const noQuery = z.strictObject({});

/** Declares a route; its handler sees params, query and body with their types. */
export function route<const Path extends string, Body = undefined, Query = undefined>(
  declared: Declaration<Path, Body, Query>,
): Route {
  const { method, path, scope, operationId } = declared;
  // Where a declaration leaves a schema out, Query or Body is inferred as undefined and never looked at.
  const querySchema = (declared.query ?? noQuery) as z.ZodType<Query>;
  const bodySchema = (declared.body ?? z.unknown()) as z.ZodType<Body>;
  return {
    method,
    path,
    scope,
    operationId,
    query: declared.query,
    body: declared.body,
    handle: async (request) => {
      const query = validate(querySchema, request.query);
      if (!query.ok) return refuse('invalid_query', query.problems);
      const body = validate(bodySchema, request.body);
      if (!body.ok) return refuse('invalid_body', body.problems);
      // The router fills exactly the parameters that the path names.
      const params = request.params as PathParams<Path>;
      return declared.handle({ ...request, params, query: query.value, body: body.value });
    },
  };
}
