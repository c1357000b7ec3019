/** A route is a value; a handler takes a parsed request and returns an answer, so both are called without a socket. */

import { z } from 'zod';
import { type ErrorCode, type Refusal, refuse } from './errors.ts';
import type { ApiResponse } from './response.ts';
import { type ParamName, validate } from './validate.ts';

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

/** What a route asks of a key; `any`: no more than that it is one. Null: nothing, and no key. */
export type NeededScope = Scope | 'any' | null;

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
  /** Of the connection; missing where it is gone. */
  readonly remoteAddress?: string | undefined;
};

/** How much may change: stable not before `/v2`, beta after a notice in the changelog, experimental at any time. */
export type Stability = 'stable' | 'beta' | 'experimental';

/** What an operation answers when it does what was asked; the OpenAPI document shows it. */
export type Success = {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Missing: no body, or one that is no JSON (`mediaType`). */
  readonly schema?: z.ZodType;
  readonly mediaType?:
    | 'text/html'
    | 'text/css'
    | 'text/javascript'
    | 'text/event-stream'
    | 'text/plain';
  readonly example?: unknown;
  /** Header names, and what each says. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** What the OpenAPI document says about an operation beyond what its schemas say. */
export type RouteDocs = {
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly stability: Stability;
  readonly deprecated?: true;
  /** Of a GET whose answers are of their moment alone: none has an entity tag, none is to be kept (`no-store`). */
  readonly momentary?: true;
  /** Whether an Authorization header lets its bearer do this and nothing else, without being a key. */
  readonly takesInstead?: (authorization: string | undefined) => boolean;
  /** Whether `Last-Event-ID` says where its stream begins. */
  readonly takesLastEventId?: true;
  /** Whether `If-Match` and `If-None-Match` say of which version it is the change (src/http/pipeline/render.ts). */
  readonly takesPreconditions?: true;
  /** Headers of every answer of the operation, refusals too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The refusal of whatever is asked of it, once it has been removed. */
  readonly ended?: () => Refusal | null;
  readonly success: Success;
  /** The refusals of this operation alone; those that any operation can have are added (src/http/openapi/). */
  readonly refusals?: readonly ErrorCode[];
  readonly bodyExample?: unknown;
  /** No body is the same as `{}`. */
  readonly bodyIsOptional?: true;
  /** What the interface document lists of it; everything else is marked as an addition. */
  readonly original?: {
    readonly statuses: readonly number[];
    readonly parameters: readonly string[];
  };
};

export const tags = [
  'Pets',
  'Projects',
  'Domains',
  'Events',
  'Webhooks',
  'Keys',
  'Operations',
  'Service',
] as const;
export type Tag = (typeof tags)[number];

/** What passed validation, ready to be run; running is what has effects. */
export type Prepared =
  | { readonly ok: true; readonly run: () => Promise<ApiResponse> }
  | { readonly ok: false; readonly refusal: Refusal };

/** A route as the API sees it. */
export type Route = RouteDocs & {
  readonly method: Method;
  readonly path: string;
  /** Null: anybody may call it, without a key. */
  readonly scope: NeededScope;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** Validates query and body, and refuses what does not fit. Never throws. */
  readonly prepare: (request: ApiRequest) => Prepared;
};

/** `'/v1/projects/:projectId/domains/:hostname'` gives `'projectId' | 'hostname'`. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type PathParams<Path extends string> = Readonly<Record<ParamNames<Path>, string>>;

type Declaration<Path extends string, Body, Query> = RouteDocs & {
  readonly method: Method;
  /** Every parameter is one that src/http/pipeline/router.ts describes. */
  readonly path: ParamNames<Path> extends ParamName ? Path : never;
  readonly scope: NeededScope;
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
  const { handle, query, body, ...rest } = declared;
  // Where a declaration leaves a schema out, Query or Body is inferred as undefined and never read.
  const querySchema = (query ?? noQuery) as z.ZodType<Query>;
  const bodySchema = (body ?? z.unknown()) as z.ZodType<Body>;
  const unknownWords = wordsForUnknown(query);
  return {
    ...rest,
    query,
    body,
    prepare(request) {
      const parsedQuery = validate(querySchema, request.query, unknownWords);
      if (!parsedQuery.ok) return no('invalid_query', parsedQuery.problems);
      const parsedBody = validate(bodySchema, request.body);
      if (!parsedBody.ok) return no('invalid_body', parsedBody.problems);
      // The router fills exactly the parameters that the path names.
      const params = request.params as PathParams<Path>;
      const { headers, key, remoteAddress, requestId } = request;
      const parsed = {
        params,
        query: parsedQuery.value,
        body: parsedBody.value,
        headers,
        key,
        requestId,
        remoteAddress,
      };
      return { ok: true, run: () => handle(parsed) };
    },
  };
}

/** What is said of a query parameter that the operation does not have. */
function wordsForUnknown(query: z.ZodType | undefined): string {
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  const taken = names.length === 0 ? 'none' : names.join(', ');
  return `is no query parameter of this operation, which takes ${taken}`;
}

function no(code: ErrorCode, problems: string): Prepared {
  return { ok: false, refusal: refuse(code, problems) };
}
