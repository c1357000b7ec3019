/**
 * bull-board over our queues, without a web framework: its page, its files and its calls as values. Who may ask for them,
 * and how they leave, is for src/dashboard/queues.ts to say.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type {
  AppControllerRoute,
  AppViewRoute,
  BullBoardQueues,
  IServerAdapter,
  UIConfig,
} from '@bull-board/api/typings/app';
import FindMyWay, { type HTTPMethod } from 'find-my-way';
import { queueNames, rowIdIn } from '../core/operations/jobs.ts';
import type { SeenQueues } from '../queue/queues.ts';
import type { AnyQueue } from '../queue/seen-job.ts';

/** A call of the page's own API. */
export type BoardCall = {
  readonly method: string;
  /** Below the board's own path: `/api/queues`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** Where false, whatever would change something is refused. */
  readonly mayChange: boolean;
};

/** Which call it is, and what it is about. */
export type BoardOperation = {
  /** `PUT /api/queues/:queueName/:jobId/retry`: of the board's own list. */
  readonly name: string;
  /** A queue (`check-dns`), one of its jobs (`check-dns/<job>`), or null: all queues, or one that is none of ours. */
  readonly object: string | null;
};

/** A file of the page with its Content-Type; all of them are text. */
export type BoardFile = { readonly text: string; readonly contentType: string };

/** The dashboard of the queues, as values. */
export type QueueBoard = {
  /**
   * Returns the page, for any path that is neither a call nor a file. `home`: the board's own path as the browser has
   * it; `operations`: the page that it links back to.
   */
  page(home: string, operations: string): string;
  /** A file of the page, by its path below the board's; undefined where there is none. */
  file(path: string): BoardFile | undefined;
  /**
   * Makes a call; null where there is no such one. Rejects while the queue's server is away. `around` is handed the call
   * before it is made, and makes it.
   */
  call(call: BoardCall, around?: AroundCall): Promise<BoardAnswer | null>;
};

/** What a call of the board's page is answered with. */
export type BoardAnswer = { readonly status: number; readonly body: unknown };
/** Runs a call, as its caller wants it to be accompanied. */
export type AroundCall = (
  operation: BoardOperation,
  run: () => Promise<BoardAnswer>,
) => Promise<BoardAnswer>;

/** What bull-board hands to the server that it runs in. */
type Board = {
  readonly queues: BullBoardQueues;
  readonly routes: ReturnType<typeof FindMyWay>;
  readonly uiConfig: UIConfig;
};

/** Reads the list of its files at once, and loads bull-board at the first call. */
export function createQueueBoard(queues: Pick<SeenQueues, 'opened'>): QueueBoard {
  const files = filesOf(`${uiFolder}static/`);
  const template = pageOf(readFileSync(`${uiFolder}index.ejs`, 'utf8'));
  let last: { readonly opened: readonly AnyQueue[]; readonly boards: readonly Board[] } | null =
    null;

  /** One to read and one to change things, over queues that are opened again after an outage. */
  async function boards(): Promise<readonly Board[]> {
    const opened = await Promise.all(queueNames.map((name) => queues.opened(name)));
    const isSame = last?.opened.every((queue, place) => queue === opened[place]);
    if (last === null || !isSame) {
      const library = await loadBullBoard();
      last = { opened, boards: [boardOf(library, opened, true), boardOf(library, opened, false)] };
    }
    return last.boards;
  }

  return {
    page(home, operations) {
      const config = { ...branding, miscLinks: [{ text: 'Operations', url: operations }] };
      const holes: Readonly<Record<string, string>> = {
        basePath: `${home}/`,
        title: branding.boardTitle,
        favIconDefault: branding.favIcon.default,
        favIconAlternative: branding.favIcon.alternative,
        // Within a script element: nothing may end it.
        uiConfig: JSON.stringify(config).replaceAll('<', '\\u003c'),
      };
      return template.replace(/<%[-=] *(\w+) *%>/g, (_, hole: string) => holes[hole] ?? '');
    },
    file(path) {
      const found = files.get(path);
      return found && { ...found, text: readFileSync(found.file, 'utf8') };
    },
    async call({ method, path, query, body, mayChange }, around = (_, run) => run()) {
      const [toRead, toChange] = await boards();
      const board = mayChange ? toChange : toRead;
      const match = board?.routes.find(method as HTTPMethod, path); // any other finds nothing
      if (board === undefined || !match) return null;
      const { handler, route } = match.store as AppControllerRoute; // what was given to `on`
      const { params } = match;
      const { queues: shown, uiConfig } = board;
      const asked = { queues: shown, uiConfig, params, query: valuesOf(query), body, headers: {} };
      const operation = { name: `${method} ${[route].flat()[0]}`, object: objectIn(params) };
      return around(operation, async () => {
        const answered = await handler(asked as Parameters<typeof handler>[0]);
        return { status: answered.status ?? 200, body: answered.body };
      });
    },
  };
}

/** Ids that queues of ours and their jobs can have; any other text is somebody's own. */
function objectIn({ queueName, jobId = '' }: Readonly<Record<string, string | undefined>>) {
  const queue = queueNames.find((name) => name === queueName);
  if (queue === undefined) return null;
  const isJob = rowIdIn(jobId) !== null || /^\d{1,19}$/.test(jobId) || jobId === 'sweep';
  return isJob ? `${queue}/${jobId}` : queue;
}

const require = createRequire(import.meta.url);
const uiFolder = require.resolve('@bull-board/ui/package.json').replace('package.json', 'dist/');

/**
 * Quiet: no link to its makers, no icon that is no text. Nor does it show workers: in PostgreSQL it finds none where
 * some are at work.
 */
const branding = {
  boardTitle: 'Queues · Signpost',
  favIcon: { default: 'static/images/logo.svg', alternative: 'static/images/logo.svg' },
  hideDocsLink: true,
  showWorkers: false,
} as const;

/** At the first need: loading it takes some 140 ms, which no start has to wait for. */
async function loadBullBoard() {
  const [{ createBullBoard }, { BullMQAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
  ]);
  return { createBullBoard, BullMQAdapter };
}

function boardOf(
  { createBullBoard, BullMQAdapter }: Awaited<ReturnType<typeof loadBullBoard>>,
  opened: readonly AnyQueue[],
  readOnlyMode: boolean,
): Board {
  const routes = FindMyWay({ maxParamLength: 500 });
  let [queues, uiConfig]: [BullBoardQueues, UIConfig] = [new Map(), {}];
  const server: IServerAdapter = {
    setQueues(given) {
      queues = given;
      return server;
    },
    setUIConfig(given) {
      uiConfig = given;
      return server;
    },
    setApiRoutes(given) {
      for (const route of given) {
        const methods = [route.method].flat().map((method) => method.toUpperCase() as HTTPMethod);
        for (const path of [route.route].flat()) routes.on(methods, path, () => {}, route);
      }
      return server;
    },
    // The page, its files and its faults are ours to serve.
    setViewsPath: () => server,
    setStaticPath: () => server,
    setEntryRoute: (_: AppViewRoute) => server,
    setErrorHandler: () => server,
  };
  const adapters = opened.map(
    // Its types are those of BullMQ's default backend; it calls what every queue has.
    (queue) => new BullMQAdapter(queue as never, { readOnlyMode, allowRetries: !readOnlyMode }),
  );
  createBullBoard({ queues: adapters, serverAdapter: server, options: { uiConfig: branding } });
  return { queues, routes, uiConfig };
}

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  json: 'application/json',
};

/** Those that are text, by their path below the board's. */
function filesOf(folder: string) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const found = names.flatMap((name) => {
    const type = types[name.slice(name.lastIndexOf('.') + 1)];
    const path = `/static/${name.replaceAll('\\', '/')}`;
    const contentType = `${type}; charset=utf-8`;
    return type === undefined ? [] : [[path, { file: folder + name, contentType }] as const];
  });
  return new Map(found);
}

/** Without what comes from other hosts, and without styles in line, which our policy forbids. */
function pageOf(template: string): string {
  return template
    .replace(/<link[^>]*href="https?:[^>]*>\s*/g, '')
    .replace(/(<div id="root">)[\s\S]*?<\/style>\s*<\/div>/, '$1Loading</div>');
}

/** `a=1&b=2&b=3` as `{a: '1', b: ['2', '3']}`. */
function valuesOf(query: URLSearchParams): Readonly<Record<string, string | string[]>> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name);
      return [name.replace(/\[\]$/, ''), values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}
