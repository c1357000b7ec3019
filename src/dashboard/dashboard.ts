/**
 * The pages that people read: sign-in, projects, domains, operations. Each is made on the server from the API's own
 * answers and reads without a script; src/dashboard/browser/ makes it move.
 */
import FindMyWay from 'find-my-way';
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { Api, RawRequest } from '../http/pipeline/api.ts';
import type { Audit } from '../http/pipeline/audit.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import { MAX_TARGET_LENGTH } from '../http/pipeline/router.ts';
import type { QueueBoard } from '../ops/queue-dashboard.ts';
import { loadAssets } from './assets.ts';
import { createClient, isQueuesPath, QUEUES } from './client.ts';
import { endedCookie, tokenIn } from './cookies.ts';
import {
  type Frame,
  type Link,
  layout,
  type PageAnswer,
  type PageRequest,
  type PageRoute,
  type Shown,
} from './layout.ts';
import { barredPage, closedPage } from './pages/access.ts';
import { allPages } from './pages/all.ts';
import { problemPage } from './pages/problem.ts';
import { answerQueues } from './queues.ts';
import {
  ASSETS,
  idOf,
  kept,
  labelOf,
  logged,
  type RequestLogDeps,
  redirect,
  shown,
  signInPath,
  wantsPage,
  withoutBody,
} from './respond.ts';
import { callerIn, chosenAccount, isFromHere, readForm, type Session } from './session.ts';
import type { Sessions } from './sessions.ts';

/** What the pages are made with. */
export type DashboardDeps = DashboardParts & {
  /** Called within the process: all data of pages but the queues' comes from it. */
  readonly api: Pick<Api, 'handle'>;
};

/** The same without the API that they stand beside. */
export type DashboardParts = RequestLogDeps &
  Board & {
    readonly sessions: Sessions;
    /** Where a request comes from, behind proxies too, as sessions show it. */
    readonly addressOf: (raw: Pick<RawRequest, 'headers' | 'remoteAddress'>) => string;
    /** What the public address has before the dashboard's paths: empty, or `/store`. */
    readonly basePath: string;
    /** What pages take for the present. */
    readonly now: () => Date;
  };

/** Missing: there are no queues to show. Where there are, the audit log says who changes them. */
type Board =
  | { readonly queueBoard?: never }
  | { readonly queueBoard: QueueBoard; readonly audit: Audit };

/**
 * The API with the dashboard beside it. What is no page is the API's to answer; its 404 becomes a page for a browser
 * that a person uses. Throws, when it is called, where the build has not been made.
 */
export function withDashboard(api: Api, deps: DashboardParts): Api {
  const dashboard = createDashboard({ ...deps, api });
  return {
    ...api,
    async handle(raw) {
      if (raw.refusal) return api.handle(raw);
      const found = dashboard.find(raw);
      if (found !== null) return logged(deps, raw, found.label, found.answer);
      const response = await api.handle(raw);
      if (response.status !== 404 || !wantsPage(raw)) return response;
      // The API has told of it, by this id.
      const id = { 'x-request-id': response.headers['x-request-id'] ?? '' };
      const page = await dashboard.notFound(raw);
      return { ...page, headers: { ...page.headers, ...id } };
    },
  };
}

/** A page or an asset. `label`: in place of an operation's name. */
type FoundPage = {
  readonly label: string;
  /** Never rejects. */
  readonly answer: (raw: RawRequest) => Promise<RawResponse>;
};

/** The dashboard without a socket: requests in, responses out. */
export type Dashboard = {
  /** The page or asset at a path. Null where the path is none of the dashboard's, or does not take the method. */
  readonly find: (raw: Pick<RawRequest, 'method' | 'target'>) => FoundPage | null;
  /** The page for a path where there is none, with status 404. Never rejects. */
  readonly notFound: (raw: RawRequest) => Promise<RawResponse>;
};

/**
 * Throws where the build has not been made. Whatever goes wrong in a page afterwards is logged and
 * answered with a page that says so.
 */
export function createDashboard(deps: DashboardDeps): Dashboard {
  const { basePath, sessions } = deps;
  const assets = loadAssets();
  const paths = FindMyWay({ maxParamLength: MAX_TARGET_LENGTH });
  for (const page of allPages(sessions)) paths.on(page.method, page.path, () => {}, page);
  const link: Link = (path) => basePath + path;
  const queues = createQueues(deps);
  const guarded = createGuarded(deps, { assets, link });

  function answer(raw: RawRequest, page: PageRoute, found: Found): Promise<RawResponse> {
    return guarded(raw, page.path, async (frame) => {
      const form = page.method === 'POST' ? await ownForm(raw, page, frame.session) : noForm;
      if (typeof form === 'string') return shownAs(frame, problemPage(form, frame));
      const apiWith = (apiKey: string) => createClient(deps.api, raw, { apiKey });
      const { headers, remoteAddress } = raw;
      const visitor = { userAgent: headers['user-agent'] ?? '', address: deps.addressOf(raw) };
      const from = { headers, remoteAddress, requestId: idOf(raw) ?? '' };
      const asked = { ...frame, ...found, headers, visitor, from, form, apiWith };
      return handled(deps, raw, page, asked);
    });
  }

  return {
    find({ method: asked, target }) {
      const { path, query } = parts(target);
      const found = (label: string, act: FoundPage['answer']): FoundPage => {
        return { label, answer: async (raw) => withoutBody(raw, await act(raw)) };
      };
      if (queues !== null && isQueuesPath(path)) {
        return found(labelOf(QUEUES), (raw) =>
          guarded(raw, QUEUES, (frame) => queues(raw, { path, query, frame })),
        );
      }
      const method = asked === 'HEAD' ? 'GET' : asked;
      const asset = method === 'GET' ? assets.find(path) : undefined;
      if (asset !== undefined) return found(ASSETS, async () => kept(asset));
      const match = paths.find(method as 'GET', path); // any other finds nothing
      if (match === null) return null;
      const params = match.params as Record<string, string>; // every `:name` of a path that matched
      const page = match.store as PageRoute; // what was given to `on`
      return found(labelOf(page.path), (raw) => answer(raw, page, { params, query }));
    },
    async notFound(raw) {
      const page = async (frame: Frame) => shownAs(frame, problemPage('not_found', frame));
      return withoutBody(raw, await guarded(raw, 'not found', page));
    },
  };
}

/** Calls with the frame of who is signed in. Never rejects. */
type Guarded = (
  raw: RawRequest,
  path: string,
  act: (frame: Frame) => Promise<RawResponse>,
) => Promise<RawResponse>;

/** What goes wrong, sessions that cannot be looked up among it, is logged and becomes a page that says so. */
function createGuarded(
  { log, now, sessions }: DashboardDeps,
  shared: Pick<Frame, 'assets' | 'link'>,
): Guarded {
  return async (raw, path, act) => {
    let frame: Frame = { ...shared, session: null, now: now() };
    try {
      frame = { ...frame, session: await sessions.find(tokenIn(raw.headers)) };
      return await act(frame);
    } catch (err) {
      log.error({ err, requestId: idOf(raw), page: path }, 'fault of a page');
      return shownAs(frame, problemPage(isUnavailable(err) ? 'unavailable' : 'fault', frame));
    }
  };
}

async function handled(
  deps: DashboardDeps,
  raw: RawRequest,
  page: PageRoute,
  request: Asked,
): Promise<RawResponse> {
  const { link, session } = request;
  const { api, basePath, sessions } = deps;
  if (page.isOpen) return render(request, await page.handle(request));
  if (session === null) return redirect(link(signInPath(raw, basePath)));
  const barred = barredBy(page, { link, session }, raw);
  if (barred !== null) return shownAs(request, barred);
  const own = createClient(api, raw, callerIn(session));
  const made = await page.handle({ ...request, session, api: own });
  // The key has ended since it was signed in with.
  return isOver(made) ? over(deps, raw, session) : render(request, bound(sessions, session, made));
}

const noForm = new URLSearchParams();

/** The form, or the reason why it is not taken. */
async function ownForm(raw: RawRequest, page: PageRoute, session: Session | null) {
  const read = await readForm(raw);
  if (read.kind === 'too_large') return 'too_large';
  const asked = page.isOpen && page.hasNoToken ? null : session;
  return read.kind === 'form' && isFromHere(raw, asked, read.form) ? read.form : 'not_from_here';
}

/** The page in place of one that is not for this session; null where it is. */
function barredBy(
  { needs, path }: PageRoute & { isOpen?: false },
  visitor: { readonly link: Link; readonly session: Session },
  { method, target }: RawRequest,
): Shown | null {
  // The accounts are those of the installation, whichever of them is chosen.
  const isAboutChosen = !path.startsWith('/accounts');
  const isClosed = (chosenAccount(visitor.session)?.closedAt ?? null) !== null;
  if (isClosed && isAboutChosen) return closedPage(visitor);
  return needs === undefined
    ? null
    : barredPage(needs, visitor, method === 'GET' ? target : '/ops');
}

/** Ends the session whose key the API takes no more, and asks for another one. */
async function over(
  { basePath, sessions }: DashboardDeps,
  raw: RawRequest,
  session: Session,
): Promise<RawResponse> {
  await sessions.end(session);
  return redirect(basePath + signInPath(raw, basePath, 'ended'), endedCookie(raw.headers));
}

/** A stream ends with the session that it was opened in. */
function bound({ bind }: Sessions, session: Session, answer: PageAnswer): PageAnswer {
  if (answer.kind !== 'raw' || answer.response.stream === undefined) return answer;
  const { response } = answer;
  return { ...answer, response: { ...response, stream: bind(session, answer.response.stream) } };
}

type QueuesAsked = {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly frame: Frame;
};

/** Null where there are no queues to show. The paths are bull-board's own, and so are its calls, which are no forms. */
function createQueues(deps: DashboardDeps) {
  const { basePath, log } = deps;
  if (deps.queueBoard === undefined) return null;
  const { audit, queueBoard: board } = deps;
  return async (raw: RawRequest, { path, query, frame }: QueuesAsked): Promise<RawResponse> => {
    const { link, session } = frame;
    if (session === null) return redirect(link(signInPath(raw, basePath)));
    const api = createClient(deps.api, raw, { apiKey: session.apiKey, sessionId: session.id });
    const asked = { raw, path: path.slice(QUEUES.length), query, session, api };
    const answered = await answerQueues({ audit, board, link, log }, asked);
    if (answered.kind === 'over') return over(deps, raw, session);
    return answered.kind === 'sent' ? answered.response : shownAs(frame, answered.page);
  };
}

/** Whether the API no longer takes the session's key. */
function isOver(answer: PageAnswer): boolean {
  if (answer.kind === 'raw') return answer.response.status === 401;
  return answer.kind === 'page' && answer.status === 401;
}

type Found = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
};

type Asked = Frame & PageRequest;

function render(frame: Frame, answer: PageAnswer): RawResponse {
  switch (answer.kind) {
    case 'page':
      return shownAs(frame, answer);
    case 'see_other':
      return redirect(frame.link(answer.path), answer.cookie);
    case 'raw':
      return answer.response;
  }
}

function shownAs(frame: Frame, page: Shown): RawResponse {
  return shown(layout(frame, page), page.status ?? 200);
}

/** Splits a target at its first question mark. */
function parts(target: string): { path: string; query: URLSearchParams } {
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  return { path, query: new URLSearchParams(query) };
}
