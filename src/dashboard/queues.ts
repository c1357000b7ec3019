/** bull-board under /ops/queues: for keys that may see operations, to change nothing unless they are administrators'. */
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { ApiLog, RawRequest } from '../http/pipeline/api.ts';
import type { Audit } from '../http/pipeline/audit.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { renderJson } from '../net/json.ts';
import type { AroundCall, BoardFile, QueueBoard } from '../ops/queue-dashboard.ts';
import { isQueueUnavailable } from '../queue/backend.ts';
import type { ApiClient, OwnKey } from './client.ts';
import { QUEUES } from './client.ts';
import type { Link, Shown } from './layout.ts';
import { barredPage, needsOperator } from './pages/access.ts';
import { refusedPage } from './pages/problem.ts';
import { headersOf, idOf } from './respond.ts';
import { cameFrom, type Session } from './session.ts';

/** The board, and what its answers are made with. */
export type QueuesDeps = {
  readonly board: QueueBoard;
  /** Says who changed a queue, before it is changed. */
  readonly audit: Pick<Audit, 'around'>;
  readonly link: Link;
  readonly log: ApiLog;
};

/** One request for the board, of who is signed in. */
export type QueuesRequest = {
  readonly raw: RawRequest;
  /** Below the board's own: `/api/queues`, or empty for its page. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly session: Session;
  /** The API for the key of the session. */
  readonly api: ApiClient;
};

/**
 * The policy of our pages, and what bull-board's bundle needs beside: a worker of its own that colors JSON, a `base` of
 * our own, and styles in line, which its messages and its editor make as they go. Scripts are its files alone.
 */
const BOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; worker-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/** What becomes of the request. `refused`: a page says why. */
export type QueuesAnswer =
  | { readonly kind: 'sent'; readonly response: RawResponse }
  /** The key has expired or was revoked: the session is over. */
  | { readonly kind: 'over' }
  | { readonly kind: 'refused'; readonly page: Shown };

/**
 * Answers with the board's page, one of its files or a call. Files go to everybody with a session; all else needs a key of
 * the installation that acts for no account, with `ops:read`, and what changes a queue needs `admin` and must come from this
 * site. Such changes are in the audit log. A fault of the queue is answered with 503 or 500.
 */
export async function answerQueues(deps: QueuesDeps, asked: QueuesRequest): Promise<QueuesAnswer> {
  const { path, raw, api } = asked;
  const { board, link } = deps;
  const file = raw.method === 'GET' ? board.file(path) : undefined;
  if (file !== undefined) return { kind: 'sent', response: sentFile(path, file) };
  // Asked again each time: a key that was revoked sees nothing more.
  const key = await api.call<OwnKey>('GET', '/v1/keys/self');
  if (!key.ok && key.status === 401) return { kind: 'over' };
  if (!key.ok)
    return { kind: 'refused', page: refusedPage(key.error, { link, session: asked.session }) };
  const { scopes, accountId } = key.body;
  const needs = { scope: 'ops:read', operators: true } as const;
  const barred = barredPage(needs, { link, session: asked.session }, QUEUES);
  if (barred !== null) return { kind: 'refused', page: barred };
  // What the API says of the key counts, whatever the session remembers.
  const isAdmin = scopes.includes('admin');
  if (accountId !== null || (!isAdmin && !scopes.includes('ops:read'))) {
    return { kind: 'refused', page: needsOperator({ link, session: asked.session }) };
  }
  if (path.startsWith('/api/')) {
    return { kind: 'sent', response: await call(deps, asked, key.body, isAdmin) };
  }
  const isRead = raw.method === 'GET' || raw.method === 'HEAD';
  return { kind: 'sent', response: isRead ? page(deps) : refused(405, 'Method not allowed.') };
}

function page({ board, link }: QueuesDeps): RawResponse {
  const text = board.page(link(QUEUES), link('/ops'));
  return sent(200, text, { type: 'text/html; charset=utf-8', cache: 'no-store' });
}

function sentFile(path: string, { text, contentType }: BoardFile): RawResponse {
  // Those that change have what is in them in their names.
  const keeps = /\.[0-9a-f]{8,}\.\w+$/.test(path) ? 'max-age=31536000, immutable' : 'max-age=3600';
  return sent(200, text, { type: contentType, cache: `private, ${keeps}` });
}

/** A call of the board's page. `mayChange`: whether the key is an administrator's. */
async function call(
  { audit, board, log }: QueuesDeps,
  { raw, path, query, session }: QueuesRequest,
  key: OwnKey,
  mayChange: boolean,
): Promise<RawResponse> {
  const { method } = raw;
  const changes = method !== 'GET' && method !== 'HEAD';
  // The board's calls have no token as forms of ours have.
  if (changes && cameFrom(raw.headers) !== 'here')
    return refused(403, 'This request came from another site.');
  if (changes && !mayChange)
    return refused(403, 'Changing queues needs a key with the scope admin.');
  const body = changes ? await bodyOf(raw) : {};
  if (body === null) return refused(400, 'The body is not JSON, or too large.');
  try {
    const asked = { method: method === 'HEAD' ? 'GET' : method, path, query, body, mayChange };
    const answer = await board.call(
      asked,
      changes ? audited(audit, { raw, session }, key) : undefined,
    );
    if (answer === null) return refused(404, 'Not found.');
    return sent(answer.status, renderJson(answer.body ?? {}), json);
  } catch (err) {
    const requestId = idOf(raw);
    log.error({ err, method, requestId }, 'fault of the queue dashboard');
    return broken(err, requestId);
  }
}

/** The entry is there before the queue is changed: no transaction has both. */
function audited(
  audit: QueuesDeps['audit'],
  { raw, session }: Pick<QueuesRequest, 'raw' | 'session'>,
  key: OwnKey,
): AroundCall {
  const { headers, remoteAddress } = raw;
  const origin = { headers, remoteAddress, sessionId: session.id, requestId: idOf(raw) ?? '' };
  const who = { keyId: key.id, accountId: key.accountId, byInstallation: key.accountId === null };
  return ({ name, object }, run) => {
    const subject = { kind: 'queue', id: object ?? 'all', accountId: null } as const;
    const act = { operationId: `queues:${name}`, object: subject };
    return audit.around({ who, origin, act }, run, ({ status }) =>
      status < 400 ? { outcome: 'done', code: null } : { outcome: 'failed', code: String(status) },
    );
  };
}

/** 503 where a server behind us is away, since asking again helps then; else 500. */
function broken(fault: unknown, requestId: string | undefined): RawResponse {
  return isUnavailable(fault) || isQueueUnavailable(fault)
    ? refused(503, 'The queue does not answer; what was accepted is safe in the database.')
    : refused(500, `A fault of ours: the log has it beside the request id ${requestId}.`);
}

/** The JSON of a body, an empty object for an empty one; null for anything else or for more than 64 KiB. */
async function bodyOf({ headers, readBody }: RawRequest): Promise<object | null> {
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return null;
  const read = await readBody();
  if (read.kind !== 'bytes') return null;
  const text = Buffer.from(read.bytes).toString();
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null; // what is no JSON is nobody's but the caller's
  }
}

const json = { type: 'application/json; charset=utf-8', cache: 'no-store' } as const;

/** A refusal in the shape that bull-board's page shows. */
function refused(status: number, message: string): RawResponse {
  return sent(status, JSON.stringify({ error: message, message }), json);
}

function sent(
  status: number,
  text: string,
  { type, cache }: { readonly type: string; readonly cache: string },
): RawResponse {
  const policy = { 'content-security-policy': BOARD_POLICY };
  return { status, headers: { ...headersOf(text, type, cache), ...policy }, body: text };
}
