/** A route is a value; a handler takes a parsed request and returns an answer, so both are called without a socket. */

import { z } from 'zod';
import type { Access, InstallationAccess } from '../../core/accounts/access.ts';
import type { AccountLimits } from '../../core/accounts/limits.ts';
import type { AuditedKind } from '../../core/operations/audit.ts';
import type { ApiResponse, AuditedAnswer } from './errors.ts';
import { type ErrorCode, type Refusal, refuse } from './errors.ts';
import { type ParamName, validate } from './validate.ts';

/** What a key may be allowed; `admin` implies all the others. */
export const scopes = [
  'pets:read',
  'pets:write',
  'domains:read',
  'domains:write',
  'ops:read',
  'admin',
] as const;
/** A scope of the list above. */
export type Scope = (typeof scopes)[number];

/** The scope that a route needs; `any`: any valid key. Null: the route is open to everybody, and reads no key. */
export type NeededScope = Scope | 'any' | null;

/** HEAD follows from GET, and OPTIONS is answered for every path (router.ts). */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Header fields by lower-case names, in requests and in answers. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Scopes that a key of an account can have; for such a key `admin` implies these and no others. */
export const accountScopes = [
  'domains:read',
  'domains:write',
  'admin',
] as const satisfies readonly Scope[];

/** The key that asks, once it has been recognized. `scopes` are those that this version knows. */
export type ApiKeyIdentity = {
  readonly id: string;
  readonly scopes: readonly Scope[];
  /** What the key reaches; of an installation's key with `Signpost-Account`, the account that it names. */
  readonly access: Access;
  /** Of the account that it acts for; missing where it acts for none. At most 5 s old. */
  readonly limits?: AccountLimits;
  /** Set where it is an installation's key that acts for the account. */
  readonly actsFor?: true;
};

/** The key of a request: none on a route that needs none, an installation's own on one for operators alone. */
type KeyFor<Needed extends NeededScope, Operators> = [Needed] extends [null]
  ? null
  : Operators extends true
    ? ApiKeyIdentity & { readonly access: InstallationAccess }
    : ApiKeyIdentity;

/**
 * A request that has passed everything that can be refused without its resource. `body` and `query` are what the route's
 * schemas made of them; without a schema, `body` is undefined and `query` is empty.
 */
export type ApiRequest<
  Body = unknown,
  Query = unknown,
  Params = Readonly<Record<string, string>>,
  Key = ApiKeyIdentity | null,
> = {
  /** Percent-decoded, one for each `:name` of the path. */
  readonly params: Params;
  readonly query: Query;
  /** As they came: nothing of them is validated. */
  readonly headers: Headers;
  readonly body: Body;
  /** Null only on a route whose scope is null. */
  readonly key: Key;
  /** The client's own `X-Request-Id` or one of ours; goes into every line of the log about the request. */
  readonly requestId: string;
  /** Of the connection; missing where it is gone. */
  readonly remoteAddress?: string | undefined;
};

/**
 * How much of an operation may change: stable not before `/v2`, beta after a notice in the changelog, experimental at any
 * time.
 */
export type Stability = 'stable' | 'beta' | 'experimental';

/** What an operation answers when it does what was asked; the OpenAPI document shows it. */
export type Success = {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Missing: no body, or one that is no JSON (`mediaType`). */
  readonly schema?: z.ZodType;
  /** Of a body that is not JSON. */
  readonly mediaType?:
    | 'text/html'
    | 'text/css'
    | 'text/javascript'
    | 'text/event-stream'
    | 'text/plain';
  /** As a value; test/http/openapi/document.test.ts holds it to the schema. */
  readonly example?: unknown;
  /** Header names, and what each says. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** What the OpenAPI document says about an operation beyond what its schemas say, and what the pipeline reads with it. */
export type RouteDocs = {
  /** Unique among the routes: the metrics, the log and stored Idempotency-Keys name the operation by it. */
  readonly operationId: string;
  readonly tag: Tag;
  /** A few words without a full stop. */
  readonly summary: string;
  /** Markdown (src/http/openapi/refusals.ts). */
  readonly description?: string;
  readonly stability: Stability;
  /** Calls are counted by key (src/http/keys/key-usage.ts). */
  readonly deprecated?: true;
  /**
   * For a GET whose answers hold only at their moment: none has an entity tag, and none is to be kept. The handler sets
   * `cache-control: no-store` itself.
   */
  readonly momentary?: true;
  /** Only for keys of the installation that act for all accounts; others are refused with `installation_only`. */
  readonly operators?: boolean;
  /**
   * The kind of thing that it changes, or shows the secret of: each success leaves an entry in the audit log, whose object
   * the answer says (`about`). Null, and missing of what only reads: it leaves none.
   */
  readonly audits?: AuditedKind | null;
  /** Whether an Authorization header lets its bearer do this and nothing else, without being a key. */
  readonly takesInstead?: (authorization: string | undefined) => boolean;
  /** Whether `Last-Event-ID` says where its stream begins. */
  readonly takesLastEventId?: true;
  /** Whether `If-Match` and `If-None-Match` say of which version it is the change (src/http/pipeline/render.ts). */
  readonly takesPreconditions?: true;
  /** Headers of every answer of the operation, refusals too, by lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The refusal of every request, once the operation has been removed; null before. */
  readonly ended?: () => Refusal | null;
  readonly success: Success;
  /** The refusals that this operation's handler gives; those that the pipeline can give are added (src/http/openapi/). */
  readonly refusals?: readonly ErrorCode[];
  /** Needed wherever there is a body. */
  readonly bodyExample?: unknown;
  /** No body is the same as `{}`. */
  readonly bodyIsOptional?: true;
  /**
   * What the interface document lists of the operation: its statuses and the names of its parameters. Everything else is
   * marked as an addition.
   */
  readonly original?: {
    readonly statuses: readonly number[];
    readonly parameters: readonly string[];
  };
};

/** The groups of operations, in the order in which the document shows them. */
export const tags = [
  'Pets',
  'Accounts',
  'Projects',
  'Domains',
  'Events',
  'Webhooks',
  'Keys',
  'Audit',
  'Operations',
  'Service',
] as const;
/** A group of operations, with a page of its own below `/docs`. */
export type Tag = (typeof tags)[number];

/**
 * What passed validation, ready to be run, or its refusal. Nothing has an effect before `run`, which rejects with the
 * handler's faults.
 */
export type Prepared =
  | { readonly ok: true; readonly run: () => Promise<ApiResponse> }
  | { readonly ok: false; readonly refusal: Refusal };

/** A route as the API sees it, callable without a socket. */
export type Route = RouteDocs & {
  readonly method: Method;
  /** With `:name` for each parameter: `/v1/pets/:petId`. */
  readonly path: string;
  /** Null: anybody may call it, without a key. */
  readonly scope: NeededScope;
  /** Undefined: the route takes no query parameter, and refuses every one. */
  readonly query: z.ZodType | undefined;
  /** Undefined: a body is neither read nor parsed. */
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

/** The answers of an operation: where it is audited, a success says what it changed. */
type AnswerOf<Kind> = [Kind] extends [AuditedKind] ? AuditedAnswer : ApiResponse;

type Declaration<
  Path extends string,
  Body,
  Query,
  Needed extends NeededScope,
  Operators extends boolean,
  Verb extends Method,
  Kind extends AuditedKind | null,
> = RouteDocs & {
  readonly method: Verb;
  readonly audits?: Kind;
  /** Every parameter is one that `params` (validate.ts) describes; any other is an error of the type. */
  readonly path: ParamNames<Path> extends ParamName ? Path : never;
  readonly scope: Needed;
  readonly operators?: Operators;
  /** Of a strict object of strings; without it, every query parameter is refused. */
  readonly query?: z.ZodType<Query>;
  /** Without it, a body is neither read nor parsed. */
  readonly body?: z.ZodType<Body>;
  readonly handle: (
    request: ApiRequest<Body, Query, PathParams<Path>, KeyFor<Needed, Operators>>,
  ) => Promise<AnswerOf<Kind>>;
};

/** What may change something has to say what, or with null that the audit log leaves it out. */
type SaysWhat<Verb extends Method> = Verb extends 'GET'
  ? unknown
  : { readonly audits: AuditedKind | null };

const noQuery = z.strictObject({});

/**
 * Declares a route; its handler sees params, query and body with their types. Query and body are validated; params are text,
 * which the handler has to check. Nothing is added to what the handler answers.
 */
export function route<
  const Path extends string,
  const Needed extends NeededScope,
  Body = undefined,
  Query = undefined,
  const Operators extends boolean = false,
  const Verb extends Method = Method,
  const Kind extends AuditedKind | null = null,
>(declared: Declaration<Path, Body, Query, Needed, Operators, Verb, Kind> & SaysWhat<Verb>): Route {
  const plain: Declaration<Path, Body, Query, Needed, Operators, Verb, Kind> = declared;
  const { handle, query, body, ...rest } = plain;
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
      const { headers, remoteAddress, requestId } = request;
      // What the route needs of it, admission has seen to (admission.ts).
      const key = request.key as KeyFor<Needed, Operators>;
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

/** What a refusal says of a query parameter that the operation does not have: it lists those that it has. */
function wordsForUnknown(query: z.ZodType | undefined): string {
  const names = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  const taken = names.length === 0 ? 'none' : names.join(', ');
  return `is no query parameter of this operation, which takes ${taken}`;
}

function no(code: ErrorCode, problems: string): Prepared {
  return { ok: false, refusal: refuse(code, problems) };
}
