/** What a handler answers: a value, which whoever has the connection sends; and every refusal and fault, with its code. */

import type { Subject } from '../../core/operations/audit.ts';

/** The text of an answer as it is made, perhaps without an end. Either of the two is called, once. */
export type TextStream = {
  /** Begins to make the text. What it holds is released when the signal aborts, which happens once nobody reads any more. */
  readonly open: (signal: AbortSignal) => AsyncIterable<string>;
  /** Releases what it holds, without making any text. */
  readonly discard: () => void;
};

/**
 * The answer of a handler. `body` is rendered as JSON (bigint as digits, Date as RFC 3339); `text` is sent as it is, as JSON
 * unless `content-type` says otherwise; `stream` is sent as it is made. With none of them, the answer has no body.
 */
export type ApiResponse = {
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly stream?: TextStream;
  /** By lower-case names. They replace those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * What is still to be done once the effect is committed, before the answer leaves. Not called for a replay, nor where the
   * handler rejected. Where it rejects itself, the client gets a fault although the effect stays.
   */
  readonly afterCommit?: () => Promise<void>;
  /**
   * What was changed, for the audit log; no part of what is sent. Of every success of a route that `audits`. Null: there was
   * nothing to change, so there is nothing to name.
   */
  readonly about?: Subject | null;
  /** `body` as it is replayed for an Idempotency-Key, where it must not be stored as it is. */
  readonly replayBody?: unknown;
};

/**
 * By code: the HTTP status, and the message where a refusal brings none of its own. Codes are published: a program decides
 * by them. docs/api.md lists the same ones (test/http/errors.test.ts).
 */
export const errors = {
  bad_request: [400, 'The request is not well-formed HTTP.'],
  malformed_json: [400, 'The body is not valid JSON in UTF-8.'],
  json_too_deep: [400, 'The body nests arrays and objects more than 32 levels deep.'],
  invalid_body: [400, 'The body does not have the documented fields.'],
  invalid_query: [400, 'The query has a parameter that does not fit.'],
  invalid_idempotency_key: [400, 'Idempotency-Key must have 1 to 255 printable ASCII characters.'],
  invalid_last_event_id: [400, 'Last-Event-ID must be the number of an event, or 0.'],
  invalid_hostname: [400, 'This is not a host name that can be published.'],
  public_suffix: [400, 'This name is a public suffix; choose a name below it.'],
  platform_hostname: [400, "This name belongs to the platform; add a domain of the project's own."],
  wildcard_unsupported: [400, 'Wildcards are not supported; add each host name by itself.'],
  too_many_redirects: [400, 'The settings have more than 100 redirects.'],
  redirect_status: [400, 'The status of a redirect must be 301, 302, 307 or 308.'],
  settings_unknown_host: [400, 'The settings name a host that is no domain of this project.'],
  redirect_to_itself: [400, 'A domain cannot redirect to itself.'],
  redirect_twice: [400, 'A domain can redirect to one other only.'],
  primary_redirects: [400, 'The primary domain cannot redirect away.'],
  redirect_loop: [400, 'The redirects lead in a circle.'],
  redirect_chain: [400, 'A redirect must lead to a domain that does not redirect itself.'],
  unauthorized: [401, 'The API key is missing or not valid.'],
  insufficient_scope: [403, 'The API key does not have the scope that this operation needs.'],
  installation_only: [403, 'Only a key of the installation can do this, without Signpost-Account.'],
  restricted_key: [403, 'This key is for named projects only.'],
  paid_plan_required: [403, 'Custom domains need a paid plan (Pro or above).'],
  not_found: [404, 'There is nothing at this path.'],
  pet_not_found: [404, 'There is no animal with this ID.'],
  key_not_found: [404, 'There is no key with this ID.'],
  session_not_found: [404, 'There is no session with this ID.'],
  account_not_found: [404, 'There is no account with this ID.'],
  project_not_found: [404, 'There is no project with this ID.'],
  domain_not_found: [404, 'This project has no such domain.'],
  escalation_not_found: [404, 'There is no escalation with this ID.'],
  webhook_not_found: [404, 'There is no webhook with this ID.'],
  event_not_found: [404, 'This project has no event with this number.'],
  method_not_allowed: [
    405,
    'This path does not take this method; Allow lists those that it takes.',
  ],
  request_timeout: [408, 'The request took too long to arrive.'],
  deploy_required: [
    409,
    'The project needs a successful deploy first: POST /v1/projects/{projectId}/deploys with the status succeeded.',
  ],
  domain_exists: [409, 'This domain is attached already.'],
  domain_in_use: [409, 'The domain settings lead to this domain; change them first.'],
  nothing_waits: [409, 'The domain waits for nothing in this queue.'],
  slug_taken: [409, 'Another project has this slug.'],
  default_account: [409, 'This account is where everything without an account goes; it stays.'],
  account_in_use: [409, 'This account still has domains; remove them first.'],
  account_limit: [409, 'This account has as many of these as it may.'],
  too_many_webhooks: [409, 'There are as many webhooks as there may be; delete one first.'],
  webhook_disabled: [409, 'This webhook is switched off; switch it on first.'],
  key_ended: [409, 'This key has ended; make a new one.'],
  key_rotated: [409, 'This key has a successor already.'],
  rotation_under_way: [409, 'The key that this one replaced still works.'],
  last_admin_key: [409, 'This is the last key that may manage keys; make another one first.'],
  idempotency_key_in_use: [409, 'A request with this Idempotency-Key is still under way.'],
  gone: [410, 'This operation was removed.'],
  precondition_failed: [
    412,
    'What is there now is not what If-Match or If-None-Match asks for; get it again.',
  ],
  body_too_large: [413, 'The body is larger than 64 KiB.'],
  uri_too_long: [414, 'The request target is longer than 8 KiB.'],
  unsupported_media_type: [
    415,
    'The body must be JSON in UTF-8, sent with Content-Type: application/json.',
  ],
  expectation_failed: [417, 'The only expectation that can be met is 100-continue.'],
  misdirected: [421, 'Nothing of the platform itself is reached through a domain.'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used for another request.'],
  rate_limited: [429, 'Too many requests; try again when the window ends.'],
  too_many_domains: [429, 'This account has added too many domains lately; try again later.'],
  too_many_streams: [429, 'This API key has too many streams open; close one, or try again later.'],
  account_busy: [429, 'This account has as much of this under way as it may; try again shortly.'],
  headers_too_large: [431, 'The request headers are larger than 16 KiB or more than 100.'],
  internal_error: [500, 'Something went wrong on our side.'],
  unavailable: [503, 'The service cannot reach its database; try again shortly.'],
  too_many_connections: [503, 'Too many connections are open; try again shortly.'],
  too_many_diagnoses: [503, 'Too many diagnoses are under way; try again shortly.'],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>;

/** A code of the table above. */
export type ErrorCode = keyof typeof errors;
/** The interface document's Error (part 2). `status` is that of the answer. */
export type ErrorBody = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
};

/** A refusal is a value like any other answer, never thrown; its body is exactly the interface document's Error. */
export type Refusal = ApiResponse & { readonly body: ErrorBody };

/** An answer of a route that `audits`: a success says what was changed. */
export type AuditedAnswer = Refusal | (ApiResponse & { readonly about: Subject | null });

/** The answer for a code, with its default message unless a more precise one is given. Header names are lower case. */
export function refuse(
  code: ErrorCode,
  message: string = errors[code][1],
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const status = errors[code][0];
  return { status, body: { code, message, status }, headers };
}
