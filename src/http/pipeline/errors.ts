/** Response values and the error codes. */
import { REDIRECTS_MAX } from '../../core/names/redirects.ts';
import type { AccountLimitName } from '../../core/operations/account-limits.ts';

/** Possibly endless. Exactly one of the two functions is called, once. */
export type TextStream = {
  /** Resources are released when the signal aborts, which happens when the reader is gone. */
  readonly open: (signal: AbortSignal) => AsyncIterable<string>;
  readonly discard: () => void;
};

/**
 * `body` is rendered as JSON (bigint as digits, Date as RFC 3339). `text` is sent unchanged, as
 * JSON unless `content-type` differs. Without body, text and stream, the response is empty.
 */
export type ApiResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly stream?: TextStream;
  /** Lower-case names. They override the standard headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a `ListAnswer`: the cursor of the next page, which becomes a `Link`; null on the last page. */
  readonly next?: string | null;
  /**
   * Runs after the commit and before the response. Not called for replays or if the handler
   * rejects. If it rejects, the client gets an error although the change is committed.
   */
  readonly afterCommit?: () => Promise<void>;
  /** Replays send this instead of `body`, for bodies that must not be stored. */
  readonly replayBody?: unknown;
};

declare const isPage: unique symbol;

/** Made by `pageAnswer`, which limits its size. Routes with a cursor return no other success. */
export type ListAnswer = ApiResponse & { readonly [isPage]: true };

/** Codes are public; docs/integrate/errors.md lists them (test/http/errors.test.ts). */
export const errors = {
  bad_request: [400, 'The request is not well-formed HTTP.'],
  malformed_json: [400, 'The body is not valid JSON in UTF-8.'],
  json_too_deep: [400, 'The body nests arrays and objects more than 32 levels deep.'],
  invalid_body: [400, 'The body does not match the documented fields.'],
  invalid_query: [400, 'A query parameter is unknown or invalid.'],
  invalid_idempotency_key: [400, 'Idempotency-Key must have 1 to 255 printable ASCII characters.'],
  invalid_last_event_id: [400, 'Last-Event-ID must be the number of an event, or 0.'],
  invalid_hostname: [400, 'This is not a valid public host name.'],
  account_unsupported: [
    400,
    'This operation is about the whole installation. Send it without Signpost-Account.',
  ],
  public_suffix: [400, 'This name is a public suffix. Choose a name below it.'],
  platform_hostname: [400, 'This name belongs to the platform. Use a domain that you own.'],
  wildcard_unsupported: [400, 'Wildcards are not supported. Add each host name separately.'],
  too_many_redirects: [400, `The settings have more than ${REDIRECTS_MAX} redirects.`],
  redirect_status: [400, 'The status of a redirect must be 301, 302, 307 or 308.'],
  settings_unknown_host: [400, 'The settings contain a host that is not a domain of this project.'],
  redirect_to_itself: [400, 'A domain cannot redirect to itself.'],
  redirect_twice: [400, 'A domain can only redirect to one other domain.'],
  primary_redirects: [400, 'The primary domain cannot redirect.'],
  redirect_loop: [400, 'The redirects form a loop.'],
  redirect_chain: [400, 'A redirect target must not redirect to another domain.'],
  unauthorized: [
    401,
    'The API key is missing, unknown, revoked or expired. Send Authorization: Bearer <key>.',
  ],
  insufficient_scope: [403, 'The API key lacks the scope that this operation requires.'],
  paid_plan_required: [
    403,
    'This requires a paid plan (Pro or higher). Live domains stay live and are renewed.',
  ],
  key_restricted: [403, 'This key is restricted to some projects. Use another key of the account.'],
  not_found: [404, 'This path does not exist.'],
  pet_not_found: [404, 'There is no pet with this ID.'],
  key_not_found: [404, 'There is no key with this ID.'],
  session_not_found: [404, 'There is no session with this ID, or it has ended.'],
  account_not_found: [404, 'There is no account with this ID.'],
  project_not_found: [404, 'There is no project with this ID.'],
  deploy_not_found: [404, 'This project has no deploy with this ID.'],
  domain_not_found: [404, 'This project has no such domain.'],
  escalation_not_found: [404, 'There is no escalation with this ID.'],
  process_not_found: [404, 'There is no refused process with this ID.'],
  webhook_not_found: [404, 'There is no webhook with this ID.'],
  event_not_found: [404, 'This project has no event with this number.'],
  method_not_allowed: [405, 'This path does not support this method. See the Allow header.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  deploy_required: [
    409,
    'The project needs a successful deploy first: POST /v1/projects/{projectId}/deploys with the status succeeded.',
  ],
  domain_exists: [409, 'This domain is already attached.'],
  project_has_live_domains: [
    409,
    'The project has live or drifted domains. Remove them first, or use ?domains=remove.',
  ],
  domain_in_use: [409, 'The domain settings use this domain. Change them first.'],
  nothing_waits: [409, 'The domain has no pending work in this queue.'],
  slug_taken: [409, 'Another project has this slug.'],
  limit_reached: [409, 'A limit of the account is reached. The message says which.'],
  account_closed: [409, 'This account is closed.'],
  account_has_projects: [
    409,
    'The account has projects. Delete them first, or use ?projects=delete.',
  ],
  default_account: [409, 'The default account cannot be closed.'],
  too_many_webhooks: [409, 'The maximum number of webhooks is reached. Delete one first.'],
  webhook_disabled: [409, 'This webhook is disabled. Enable it first.'],
  key_ended: [409, 'This key is expired or revoked. Create a new one.'],
  outlives_maker: [
    409,
    'A key must not outlive the key that creates it, nor rotate the key that made it.',
  ],
  key_rotated: [409, 'This key was already rotated. Use its successor.'],
  rotation_under_way: [
    409,
    'The previous key still works. Revoke it, or rotate with graceSeconds: 0.',
  ],
  last_admin_key: [
    409,
    'No other key with the scope admin would be left. Rotate this one with a grace period.',
  ],
  idempotency_key_in_use: [409, 'A request with this Idempotency-Key is still in progress.'],
  gone: [410, 'This operation was removed.'],
  precondition_failed: [
    412,
    'The current version does not match If-Match or If-None-Match. Fetch it again.',
  ],
  body_too_large: [413, 'The body is larger than 64 KiB.'],
  uri_too_long: [414, 'The request target is longer than 8 KiB.'],
  unsupported_media_type: [
    415,
    'The body must be JSON in UTF-8, sent with Content-Type: application/json.',
  ],
  expectation_failed: [417, 'The only supported expectation is 100-continue.'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used for another request.'],
  rate_limited: [429, 'Too many requests. Try again when the window ends.'],
  too_many_domains: [429, 'The account added too many domains recently. Try again later.'],
  too_many_at_once: [
    429,
    'The account has too many of these requests in progress. Try again shortly.',
  ],
  too_many_streams: [
    429,
    'Too many streams are open with this key or account. Close one or try again later.',
  ],
  headers_too_large: [431, 'The request has more than 100 headers, or more than 16 KiB of them.'],
  internal_error: [500, 'An internal error occurred. Try again, or report the X-Request-Id.'],
  unavailable: [503, 'The service cannot reach its database. Try again shortly.'],
  too_many_connections: [503, 'Too many connections are open. Try again shortly.'],
  too_many_tests: [503, 'Too many test messages are being sent. Try again shortly.'],
  too_many_diagnoses: [503, 'Too many diagnoses are in progress. Try again shortly.'],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>;

export type ErrorCode = keyof typeof errors;

export const fieldProblems = {
  required: 'The field is missing',
  unknown: 'The operation has no such field, or the key does not exist',
  wrong_type: 'The value has another JSON type',
  not_allowed: 'The value is none of the listed ones',
  repeated: 'The parameter is given more than once',
  invalid: 'The value breaks a rule; the message says which',
  not_bearer: 'The Authorization header is not `Bearer <key>`',
  revoked: 'The key was revoked; the message says when',
  expired: 'The key has expired; the message says when',
  in_use: 'The field is a host name that is still live or drifted',
} as const;
/** `field`: `redirects[0].from`, a query parameter, `body`, or `Authorization`. */
export type FieldError = {
  readonly field: string;
  readonly code: keyof typeof fieldProblems;
  readonly message: string;
};

/** The Error of docs/interface.md, section 2, with our additions. The pipeline sets the last two. */
export type ErrorBody = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly errors?: readonly FieldError[];
  /** Of the account, if one was reached. */
  readonly limit?: { readonly name: AccountLimitName; readonly value: number };
  readonly requestId?: string;
  /** URL, or path, of the documentation of the code. */
  readonly docs?: string;
};

/** An error response. It is returned, never thrown. */
export type Refusal = ApiResponse & { readonly body: ErrorBody };

/** Header names are lower case. */
export function refuse(
  code: ErrorCode,
  message: string = errors[code][1],
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const status = errors[code][0];
  return { status, body: { code, message, status }, headers };
}

/** Names one field in both the message and `errors`. */
export function refuseField(
  code: 'invalid_body' | 'invalid_query',
  field: string,
  message: string,
  problem: FieldError['code'] = 'invalid',
): Refusal {
  return refuseFields(code, `${field}: ${message}`, [{ field, code: problem, message }]);
}

export function refuseFields(
  code: ErrorCode,
  message: string,
  fields: readonly FieldError[],
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const refusal = refuse(code, message, headers);
  return { ...refusal, body: { ...refusal.body, errors: fields } };
}

/** Adds what only the pipeline knows. Other answers stay, also a replay's text. */
export function completeRefusal(
  answer: ApiResponse,
  { requestId, docsUrl }: { readonly requestId: string; readonly docsUrl: string },
): ApiResponse {
  if (answer.status < 400 || answer.body === undefined) return answer;
  const body = answer.body as ErrorBody; // every error is made by refuse()
  const docs = `${docsUrl}/errors#${body.code}`;
  return { ...answer, body: { ...body, requestId: body.requestId ?? requestId, docs } };
}
