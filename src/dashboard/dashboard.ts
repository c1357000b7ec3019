/** Renders pages from API responses. They work without src/dashboard/browser/ (live updates). */
import FindMyWay from 'find-my-way';
import { type ForgetCredential, sessionAuthorization } from '../http/keys/auth.ts';
import type { SignInLimiters } from '../http/limits/rate-limit.ts';
import { type Api, basePathOf, type RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { MAX_TARGET_LENGTH } from '../http/pipeline/router.ts';
import { readClientAddress } from '../net/client-address.ts';
import { renderJson } from '../net/json.ts';
import { type BoardFile, createQueueBoard, type QueueBoard } from '../ops/queue-dashboard.ts';
import { isOutage } from '../queue/outage.ts';
import type { Service } from '../service/service.ts';
import { loadAssets } from './assets.ts';
import { type ApiClient, createClient, isQueuesPath, type OwnKey, QUEUES } from './client.ts';
import {
  type Link,
  layout,
  type PageAnswer,
  type PageContent,
  type PageFrame,
  type PageRequest,
  type PageRoute,
} from './layout.ts';
import { accountPages } from './pages/accounts.ts';
import { auditPages } from './pages/audit.ts';
import { domainPages } from './pages/domain/page.ts';
import { domainsPages } from './pages/domains.ts';
import { keyPages } from './pages/keys.ts';
import { actionPages } from './pages/ops/actions.ts';
import { watchedPage } from './pages/ops/domain.ts';
import { findPage, needsOperator } from './pages/ops/find.ts';
import { overviewPage } from './pages/ops/overview.ts';
import { problemPage, refusedPage } from './pages/problem.ts';
import { projectPages } from './pages/projects.ts';
import { settingsPages } from './pages/settings.ts';
import { signInPages } from './pages/sign-in.ts';
import {
  ASSETS,
  headersOf,
  idOf,
  kept,
  labelOf,
  logged,
  redirectTo,
  shown,
  withoutBody,
} from './respond.ts';
import {
  cameFrom,
  createSessions,
  type DashboardSession,
  isFromHere,
  readForm,
  type Sessions,
} from './session.ts';

type DashboardService = Pick<
  Service,
  'audit' | 'config' | 'database' | 'log' | 'metrics' | 'now' | 'queues' | 'secrets' | 'sessions'
>;

type KeyChecks = { readonly forget: ForgetCredential; readonly signIns: SignInLimiters };

/** Other paths go to the API; browsers get its 404 as a page. Throws if the build is missing. */
export function withDashboard(service: DashboardService, api: Api, checks: KeyChecks): Api {
  const dashboard = createDashboard(service, api, checks);
  return {
    ...api,
    async handle(raw) {
      if (raw.refusal) return api.handle(raw);
      const found = dashboard.find(raw);
      if (found !== null) return logged(service, raw, found.label, found.answer);
      const response = await api.handle(raw);
      if (response.status !== 404 || !wantsPage(raw)) return response;
      // The API has already logged it with this ID.
      const id = { 'x-request-id': response.headers['x-request-id'] ?? '' };
      const page = await dashboard.notFound(raw);
      return { ...page, headers: { ...page.headers, ...id } };
    },
  };
}

/** `label`: replaces an operation's name. */
type FoundPage = {
  readonly label: string;
  /** Never rejects. */
  readonly answer: (raw: RawRequest) => Promise<RawResponse>;
};

const pages: readonly PageRoute[] = [
  ...projectPages(),
  ...domainsPages(),
  ...domainPages(),
  ...settingsPages(),
  ...keyPages(),
  ...auditPages(),
  ...opsPages(),
];

/** Throws if the build is missing. Later exceptions are logged and answered with an error page. */
function createDashboard(service: DashboardService, api: Api, { forget, signIns }: KeyChecks) {
  const sessions = createSessions(service, forget);
  const { config, log, now } = service;
  const addressOf = readClientAddress(config.api.trustedProxies);
  const basePath = basePathOf(config);
  const assets = loadAssets();
  const signIn = signInPages(sessions, signIns, config.apiKey);
  const paths = routerOf([...signIn, ...accountPages(sessions), ...pages]);
  const link: Link = (path) => basePath + path;
  const queues = createQueues(service, api, { assets, sessions, link });
  const frameOf = async ({ headers }: RawRequest): Promise<PageFrame> => {
    return { assets, link, session: await sessions.find(headers['cookie']), now: now() };
  };

  async function answer(raw: RawRequest, page: PageRoute, found: Found): Promise<RawResponse> {
    const frame = await frameOf(raw);
    try {
      const form = page.method === 'POST' ? await ownForm(raw, page, frame.session) : noForm;
      if (typeof form === 'string') return shownAs(frame, problemPage(form, frame));
      const client = { ...raw, address: addressOf(raw), apiWith: clientsFor(api, raw, page) };
      return await handled(raw, page, { ...frame, ...found, ...client, form });
    } catch (err) {
      log.error({ err, requestId: idOf(raw), page: page.path }, 'page failed');
      return shownAs(frame, problemPage('fault', frame));
    }
  }

  async function handled(raw: RawRequest, page: PageRoute, request: Asked): Promise<RawResponse> {
    const { apiWith, session } = request;
    if (page.isOpen) return render(request, await page.handle(request));
    if (session === null) return redirectTo(link(signInPath(raw, basePath)));
    const client = apiWith(sessionAuthorization(session.token), session.account?.id);
    const made = await page.handle({ ...request, session, api: client });
    return isOver(made)
      ? redirectTo(link(signInPath(raw, basePath, 'ended')), sessions.ended)
      : render(request, made);
  }

  return {
    /** Null if the path or method is not the dashboard's. */
    find({ method: asked, target }: Pick<RawRequest, 'method' | 'target'>): FoundPage | null {
      const { path, query } = parts(target);
      const found = (label: string, act: FoundPage['answer']): FoundPage => {
        return { label, answer: async (raw) => withoutBody(raw, await act(raw)) };
      };
      if (isQueuesPath(path)) return found(labelOf(QUEUES), (raw) => queues(raw, path, query));
      const method = asked === 'HEAD' ? 'GET' : asked;
      const asset = method === 'GET' ? assets.find(path) : undefined;
      if (asset !== undefined) return found(ASSETS, async () => kept(asset));
      const match = paths.find(method as 'GET', path); // unknown methods match nothing
      if (match === null) return null;
      const params = match.params as Record<string, string>; // the path's parameters
      const page = match.store as PageRoute; // the value given to `on`
      return found(labelOf(page.path), (raw) => answer(raw, page, { params, query }));
    },
    async notFound(raw: RawRequest): Promise<RawResponse> {
      const frame = await frameOf(raw);
      return withoutBody(raw, shownAs(frame, problemPage('not_found', frame)));
    },
  };
}

/** Operators' pages are about the whole installation, whatever account was chosen. */
function clientsFor(api: Api, raw: RawRequest, { path }: PageRoute): PageRequest['apiWith'] {
  const isOps = path === '/ops' || path.startsWith('/ops/');
  return (authorization, accountId) =>
    createClient(api, raw, authorization, isOps ? undefined : accountId);
}

function routerOf(all: readonly PageRoute[]) {
  const paths = FindMyWay({ maxParamLength: MAX_TARGET_LENGTH });
  for (const page of all) paths.on(page.method, page.path, () => {}, page);
  return paths;
}

const noForm = new URLSearchParams();

async function ownForm(raw: RawRequest, page: PageRoute, session: DashboardSession | null) {
  const read = await readForm(raw);
  if (read.kind === 'too_large') return 'too_large';
  const asked = page.isOpen && page.hasNoToken ? null : session;
  return read.kind === 'form' && isFromHere(raw, asked, read.form) ? read.form : 'not_from_here';
}

type QueuePageParts = Pick<PageFrame, 'assets' | 'link'> & { readonly sessions: Sessions };

/** The paths and calls are bull-board's own. */
function createQueues(
  service: DashboardService,
  api: Api,
  { assets, sessions, link }: QueuePageParts,
) {
  const { config, now } = service;
  const basePath = basePathOf(config);
  const board = createQueueBoard(service.queues);
  return async (raw: RawRequest, path: string, query: URLSearchParams): Promise<RawResponse> => {
    const session = await sessions.find(raw.headers['cookie']);
    if (session === null) return redirectTo(link(signInPath(raw, basePath)));
    const client = createClient(api, raw, sessionAuthorization(session.token));
    const asked = { raw, path: path.slice(QUEUES.length), query, session, api: client };
    const answered = await answerQueues(service, { board, link }, asked);
    if (answered.kind === 'over') {
      return redirectTo(link(signInPath(raw, basePath, 'ended')), sessions.ended);
    }
    const frame = { assets, link, session, now: now() };
    return answered.kind === 'sent' ? answered.response : shownAs(frame, answered.page);
  };
}

/** API clients do not accept HTML. */
function wantsPage({ method, target, headers }: RawRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && !target.startsWith('/v1/') && headers['accept']?.includes('text/html') === true;
}

/** With a link back to the requested page or the form's page. `why`: the session has ended. */
function signInPath({ method, target, headers }: RawRequest, basePath: string, why?: 'ended') {
  const from = URL.canParse(headers['referer'] ?? '') ? new URL(headers['referer'] ?? '') : null;
  const isOurs = from?.host === headers['host'] && from?.pathname.startsWith(basePath);
  const page = isOurs && from ? from.pathname.slice(basePath.length) : '/projects';
  const then = method === 'POST' ? page : target;
  return `/?then=${encodeURIComponent(then)}${why === undefined ? '' : `&why=${why}`}`;
}

/** The session has ended, or its key expired or was revoked. */
function isOver(answer: PageAnswer): boolean {
  if (answer.kind === 'raw') return answer.response.status === 401;
  return answer.kind === 'page' && answer.status === 401;
}

type Found = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
};

type Asked = PageFrame & PageRequest;

function render(frame: PageFrame, answer: PageAnswer): RawResponse {
  switch (answer.kind) {
    case 'page':
      return shownAs(frame, answer);
    case 'see_other':
      return redirectTo(frame.link(answer.path), answer.cookie);
    case 'raw':
      return answer.response;
  }
}

function shownAs(frame: PageFrame, page: PageContent): RawResponse {
  return shown(layout(frame, page), page.status ?? 200, page.headers);
}

function parts(target: string): { path: string; query: URLSearchParams } {
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  return { path, query: new URLSearchParams(query) };
}

/** Without the scope `ops:read`, each page explains what is missing. */
function opsPages(): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/ops', handle: overviewPage },
    { method: 'GET', path: '/ops/domains', handle: findPage },
    { method: 'GET', path: '/ops/domains/:domainId', handle: (asked) => watchedPage(asked) },
    ...actionPages(),
  ];
}

// bull-board under /ops/queues: read-only for keys with `ops:read`, changes for administrators.

type ShownBoard = { readonly board: QueueBoard; readonly link: Link };

type QueuesRequest = {
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
type QueuesAnswer =
  | { readonly kind: 'sent'; readonly response: RawResponse }
  /** The session has ended, or its key expired or was revoked. */
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

function sent(status: number, text: string, as: { type: string; cache: string }): RawResponse {
  const policy = { 'content-security-policy': BOARD_POLICY };
  return { status, headers: { ...headersOf(text, as.type, as.cache), ...policy }, body: text };
}
