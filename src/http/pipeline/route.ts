import { z } from 'zod';
import type { Access } from '../../core/access.ts';
import { isAccountScope, type Scope } from '../../core/operations/scopes.ts';
import {
  type ApiResponse,
  type ErrorCode,
  type FieldError,
  type ListAnswer,
  type Refusal,
  refuseFields,
} from './errors.ts';
import { type ParamName, validate, validateQuery } from './validate.ts';

/** `any`: any valid key. Null: no key is required or read. */
type NeededScope = Scope | 'any' | null;

/** GET routes also answer HEAD, and every path answers OPTIONS (router.ts). */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** By lower-case name. */
export type Headers = Readonly<Record<string, string | undefined>>;

export type ApiKeyIdentity = {
  readonly id: string;
  /** Null: the key itself was sent. */
  readonly sessionId: string | null;
  readonly scopes: readonly Scope[];
  readonly access: Access;
};

/** Passed all checks. Without a schema, `body` is undefined and `query` empty. */
export type ApiRequest<
  Body = unknown,
  Query = unknown,
  Params = Readonly<Record<string, string>>,
> = {
  /** Percent-decoded. */
  readonly params: Params;
  readonly query: Query;
  /** Unvalidated. */
  readonly headers: Headers;
  readonly body: Body;
  /** Null only on a route whose scope is null. */
  readonly key: ApiKeyIdentity | null;
  /** Of the key. Requests that need no key see nothing. */
  readonly access: Access;
  /** The client's `X-Request-Id` or a generated one; part of every log line about the request. */
  readonly requestId: string;
  /** Missing if the connection is gone. */
  readonly remoteAddress?: string | undefined;
};

/** stable: fixed until `/v2`; beta: changes are announced; experimental: changes at any time. */
export type Stability = 'stable' | 'beta' | 'experimental';

type TextBody = 'text/html' | 'text/css' | 'text/javascript' | 'text/event-stream' | 'text/plain';

/**
 * `content`: the schema of a JSON body, or the type of a text; missing: no body. Checked against it:
 * `example` (test/http/openapi/document.test.ts). `headers`: descriptions by name.
 */
export function success(
  status: 200 | 201 | 202 | 204,
  description: string,
  content?: z.ZodType | TextBody,
  example?: unknown,
  headers?: Readonly<Record<string, string>>,
) {
  const [schema, mediaType] = typeof content === 'string' ? [undefined, content] : [content];
  return { status, description, schema, mediaType, example, headers } as const;
}

export type Success = ReturnType<typeof success>;

/** The documentation of an operation, and options for the pipeline. */
type RouteDocs = {
  readonly operationId: string;
  readonly tag: Tag;
  /** A few words without a period. */
  readonly summary: string;
  /** Markdown (src/http/openapi/refusals.ts). */
  readonly description?: string;
  readonly stability: Stability;
  /** Calls are counted by key (src/http/keys/key-usage.ts). */
  readonly deprecated?: true;
  /** For GETs without caching and entity tag. The handler sets `cache-control: no-store`. */
  readonly momentary?: true;
  /** Whether an Authorization header that is not a key grants access to this operation. */
  readonly takesInstead?: (authorization: string | undefined) => boolean;
  /** Whether the stream starts after `Last-Event-ID`. */
  readonly takesLastEventId?: true;
  /** Whether it checks `If-Match` and `If-None-Match` (src/http/pipeline/render.ts). */
  readonly takesPreconditions?: true;
  /** Headers of every response, including errors, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error for every request once the operation is removed; null before. */
  readonly ended?: () => Refusal | null;
  readonly success: Success;
  /** Errors of the handler; those of the pipeline are added (src/http/openapi/). */
  readonly refusals?: readonly ErrorCode[];
  /** Whether a POST ignores Idempotency-Key, because each request is meant to have an effect. */
  readonly isRepeated?: true;
  /** Whether the handler waits for other servers: it gets no transaction and takes no account's turn. */
  readonly waitsForOthers?: true;
  /** Whether a change takes several transactions; a repetition continues it. */
  readonly commitsInSteps?: true;
  /** Whether the audit log has its reads. */
  readonly showsSecret?: true;
  /** Required if there is a body. */
  readonly bodyExample?: unknown;
  /** A missing body equals `{}`. */
  readonly bodyIsOptional?: true;
  /** What docs/interface.md defines; everything else is marked as an addition. */
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
  'Accounts',
  'Operations',
  'Service',
] as const;
/** Each tag has its own page below `/docs`. */
export type Tag = (typeof tags)[number];

/** Nothing before `run` has side effects. `run` rejects with the handler's exceptions. */
type Prepared =
  | {
      readonly ok: true;
      /** Called once, before `run` and outside its transaction. */
      readonly preload: () => Promise<void>;
      readonly run: () => Promise<ApiResponse>;
    }
  | { readonly ok: false; readonly refusal: Refusal };

export type Route = RouteDocs & {
  readonly method: Method;
  /** With `:name` for each parameter: `/v1/pets/:petId`. */
  readonly path: string;
  /** Null: no key is required. */
  readonly scope: NeededScope;
  readonly query: z.ZodType | undefined;
  readonly body: z.ZodType | undefined;
  /** Validates query and body. Never throws. */
  readonly prepare: (request: ApiRequest) => Prepared;
};

/** `'/v1/projects/:projectId/domains/:hostname'` gives `'projectId' | 'hostname'`. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type PathParams<Path extends string> = Readonly<Record<ParamNames<Path>, string>>;

type Declaration<Path extends string, Body, Query, Preloaded> = RouteDocs & {
  /** `GET /v1/pets/:petId`. A parameter missing in `params` (validate.ts) is a type error. */
  readonly at: ParamNames<Path> extends ParamName ? `${Method} ${Path}` : never;
  readonly scope: NeededScope;
  readonly query?: z.ZodType<Query>;
  readonly body?: z.ZodType<Body>;
  /** For requests to others: `handle` can run in a transaction, which must be short. */
  readonly preload?: (request: ApiRequest<Body, Query, PathParams<Path>>) => Promise<Preloaded>;
  readonly handle: (
    request: ApiRequest<Body, Query, PathParams<Path>>,
    preloaded: Preloaded,
  ) => Promise<AnswerTo<Query>>;
};

type AnswerTo<Query> = 'cursor' extends keyof Query ? ListAnswer | Refusal : ApiResponse;

const noQuery = z.strictObject({});

/**
 * Without a `query` schema, every parameter is refused; without `body`, it is not read. Handlers
 * check `params`, which are text.
 */
export function route<
  const Path extends string,
  Body = undefined,
  Query = undefined,
  Preloaded = undefined,
>(declared: Declaration<Path, Body, Query, Preloaded>): Route {
  const { at, handle, preload, query, body, ...rest } = declared;
  const [method, path] = at.split(' ') as [Method, Path]; // a path has no space
  // Without a schema, Query or Body is inferred as undefined and never read.
  const querySchema = (query ?? noQuery) as z.ZodType<Query>;
  const bodySchema = (body ?? z.unknown()) as z.ZodType<Body>;
  const unknownWords = wordsForUnknown(query);
  return {
    ...rest,
    method,
    path,
    query,
    body,
    prepare(request) {
      const parsedQuery = validateQuery(querySchema, request.query, unknownWords);
      if (!parsedQuery.ok) return no('invalid_query', parsedQuery);
      const parsedBody = validate(bodySchema, request.body);
      if (!parsedBody.ok) return no('invalid_body', parsedBody);
      // The router fills exactly the parameters of the path.
      const params = request.params as PathParams<Path>;
      const { access, headers, key, remoteAddress, requestId } = request;
      const parsed = {
        params,
        query: parsedQuery.value,
        body: parsedBody.value,
        headers,
        key,
        access,
        requestId,
        remoteAddress,
      };
      let preloaded: Preloaded;
      return {
        ok: true,
        async preload() {
          if (preload !== undefined) preloaded = await preload(parsed);
        },
        run: () => handle(parsed, preloaded),
      };
    },
  };
}

function wordsForUnknown(query: z.ZodType | undefined): string {
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  const taken = names.length === 0 ? 'none' : names.join(', ');
  return `is not a query parameter of this operation, which accepts ${taken}`;
}

function no(
  code: ErrorCode,
  { problems, errors }: { readonly problems: string; readonly errors: readonly FieldError[] },
): Prepared {
  return { ok: false, refusal: refuseFields(code, problems, errors) };
}

/** Whether the route uses an account's data, so that `Signpost-Account` can choose the account. */
export function takesAccount({ scope }: Pick<Route, 'scope'>): boolean {
  return scope !== null && isAccountScope(scope);
}

/** Whether the accounts' requests to it take turns. Pets belong to no account. */
export function takesTurn(route: Pick<Route, 'scope' | 'waitsForOthers'>): boolean {
  return takesAccount(route) && route.waitsForOthers !== true;
}

/** Every POST that requires a key, unless each request is meant to have an effect. */
export function takesIdempotencyKey({
  method,
  scope,
  isRepeated,
}: Pick<Route, 'method' | 'scope' | 'isRepeated'>): boolean {
  return method === 'POST' && scope !== null && isRepeated !== true;
}
