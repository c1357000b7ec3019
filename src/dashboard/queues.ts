/** bull-board under /ops/queues: read-only for keys with `ops:read`, changes for administrators. */
import type { RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { renderJson } from '../net/json.ts';
import type { BoardFile, QueueBoard } from '../ops/queue-dashboard.ts';
import { isOutage } from '../queue/outage.ts';
import type { Service } from '../service/service.ts';
import type { ApiClient, OwnKey } from './client.ts';
import { QUEUES } from './client.ts';
import type { Link, PageContent } from './layout.ts';
import { needsOperator } from './pages/ops/find.ts';
import { refusedPage } from './pages/problem.ts';
import { headersOf, idOf } from './respond.ts';
import { cameFrom, type DashboardSession } from './session.ts';

type ShownBoard = { readonly board: QueueBoard; readonly link: Link };

export type QueuesRequest = {
  readonly raw: RawRequest;
  /** Relative to the board: `/api/queues`, or empty for its page. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly session: DashboardSession;
  readonly api: ApiClient;
};

/**
 * For bull-board: a worker that colors JSON, its own `base`, and inline styles, which its messages
 * and editor create. Scripts are only loaded from its files.
 */
const BOARD_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; worker-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";

/** `refused`: a page says why. */
export type QueuesAnswer =
  | { readonly kind: 'sent'; readonly response: RawResponse }
  /** The key expired or was revoked, so the session ends. */
  | { readonly kind: 'over' }
  | { readonly kind: 'refused'; readonly page: PageContent };

/**
 * Files require a session, everything else `ops:read`. Changes require `admin` and this site as
 * origin, and are logged with the key's ID. Queue errors become 503 or 500.
 */
export async function answerQueues(
  { log }: Pick<Service, 'log'>,
  shown: ShownBoard,
  asked: QueuesRequest,
): Promise<QueuesAnswer> {
  const { path, raw, api } = asked;
  const { board, link } = shown;
  const file = raw.method === 'GET' ? board.file(path) : undefined;
  if (file !== undefined) return { kind: 'sent', response: sentFile(path, file) };
  // Checked on every request, so that a revoked key loses access at once.
  const key = await api.call<OwnKey>('GET', '/v1/keys/self');
  if (!key.ok && key.status === 401) return { kind: 'over' };
  if (!key.ok)
    return { kind: 'refused', page: refusedPage(key.error, { link, session: asked.session }) };
  const { accountId, scopes } = key.body;
  const isAdmin = scopes.includes('admin');
  if (accountId !== null || (!isAdmin && !scopes.includes('ops:read'))) {
    return { kind: 'refused', page: needsOperator({ link, session: asked.session }) };
  }
  if (path.startsWith('/api/')) {
    return { kind: 'sent', response: await call({ board, log }, asked, key.body, isAdmin) };
  }
  const isRead = raw.method === 'GET' || raw.method === 'HEAD';
  return { kind: 'sent', response: isRead ? page(shown) : refused(405, 'Method not allowed.') };
}

function page({ board, link }: ShownBoard): RawResponse {
  const text = board.page(link(QUEUES), link('/ops'));
  return sent(200, text, { type: 'text/html; charset=utf-8', cache: 'no-store' });
}

function sentFile(path: string, { text, contentType }: BoardFile): RawResponse {
  // Files that can change have a content hash in their names.
  const keeps = /\.[0-9a-f]{8,}\.\w+$/.test(path) ? 'max-age=31536000, immutable' : 'max-age=3600';
  return sent(200, text, { type: contentType, cache: `private, ${keeps}` });
}

/** `mayChange`: whether the key is an administrator's. */
async function call(
  { board, log }: { readonly board: QueueBoard; readonly log: Service['log'] },
  { raw, path, query }: QueuesRequest,
  key: OwnKey,
  mayChange: boolean,
): Promise<RawResponse> {
  const { method } = raw;
  const changes = method !== 'GET' && method !== 'HEAD';
  // The board's calls have no CSRF token.
  if (changes && cameFrom(raw.headers) !== 'here')
    return refused(403, 'This request came from another site.');
  if (changes && !mayChange)
    return refused(403, 'Changing queues requires a key with the scope admin.');
  const body = changes ? await bodyOf(raw) : {};
  if (body === null) return refused(400, 'The body is not JSON, or too large.');
  // Only IDs: the names of queues and jobs.
  if (changes) log.info({ keyId: key.id, method, path }, 'queue changed from the dashboard');
  try {
    const asked = { method: method === 'HEAD' ? 'GET' : method, path, query, body, mayChange };
    const answer = await board.call(asked);
    if (answer === null) return refused(404, 'Not found.');
    return sent(answer.status, renderJson(answer.body ?? {}), json);
  } catch (err) {
    const requestId = idOf(raw);
    log.error({ err, method, requestId }, 'queue dashboard failed');
    return broken(err, requestId);
  }
}

/** 503 if a retry can help; otherwise 500. */
function broken(fault: unknown, requestId: string | undefined): RawResponse {
  return isOutage(fault)
    ? refused(503, 'The queue does not answer. Accepted requests are safe in the database.')
    : refused(500, `An internal error occurred. See the log for request ID ${requestId}.`);
}

/** `{}` for an empty body; null for anything else than JSON and above MAX_BODY_BYTES. */
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
    return null; // invalid JSON is the caller's error
  }
}

const json = { type: 'application/json; charset=utf-8', cache: 'no-store' } as const;

/** In the form that bull-board displays. */
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
