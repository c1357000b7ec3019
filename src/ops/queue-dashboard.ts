/** bull-board without a web framework. src/dashboard/dashboard.ts handles authorization. */
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
import { queueNames } from '../core/operations/jobs.ts';
import type { AnyQueue, SeenQueues } from '../queue/queues.ts';

type BoardCall = {
  readonly method: string;
  /** Relative to the board's path: `/api/queues`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** If false, all changes are refused. */
  readonly mayChange: boolean;
};

export type BoardFile = { readonly text: string; readonly contentType: string };

export type QueueBoard = {
  /** `home`: the board's path in the browser; `operations`: the page to link back to. */
  page(home: string, operations: string): string;
  /** By its path relative to the board. */
  file(path: string): BoardFile | undefined;
  /** Null for an unknown call. Rejects while the queue is unavailable. */
  call(call: BoardCall): Promise<{ readonly status: number; readonly body: unknown } | null>;
};

type Board = {
  readonly queues: BullBoardQueues;
  readonly routes: ReturnType<typeof FindMyWay>;
  readonly uiConfig: UIConfig;
};

/** Reads the file list at once; loads bull-board at the first call. */
export function createQueueBoard(queues: Pick<SeenQueues, 'opened'>): QueueBoard {
  const files = filesOf(`${uiFolder}static/`);
  const template = pageOf(readFileSync(`${uiFolder}index.ejs`, 'utf8'));
  let last: { readonly opened: readonly AnyQueue[]; readonly boards: readonly Board[] } | null =
    null;

  /** One read-only board and one for changes. Queues are reopened after an outage. */
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
        // Escaped, because it is inside a script element.
        uiConfig: JSON.stringify(config).replaceAll('<', '\\u003c'),
      };
      return template.replace(/<%[-=] *(\w+) *%>/g, (_, hole: string) => holes[hole] ?? '');
    },
    file(path) {
      const found = files.get(path);
      return found && { ...found, text: readFileSync(found.file, 'utf8') };
    },
    async call({ method, path, query, body, mayChange }) {
      const [toRead, toChange] = await boards();
      const board = mayChange ? toChange : toRead;
      const match = board?.routes.find(method as HTTPMethod, path); // unknown methods have no route
      if (board === undefined || !match) return null;
      const { handler } = match.store as AppControllerRoute; // the value given to `on`
      const { params } = match;
      const { queues: shown, uiConfig } = board;
      const asked = { queues: shown, uiConfig, params, query: valuesOf(query), body, headers: {} };
      const answered = await handler(asked as Parameters<typeof handler>[0]);
      return { status: answered.status ?? 200, body: answered.body };
    },
  };
}

const require = createRequire(import.meta.url);
const uiFolder = require.resolve('@bull-board/ui/package.json').replace('package.json', 'dist/');

/** Hides the vendor's links, non-text icons, and workers (not found in PostgreSQL). */
const branding = {
  boardTitle: 'Queues · Signpost',
  favIcon: { default: 'static/images/logo.svg', alternative: 'static/images/logo.svg' },
  hideDocsLink: true,
  showWorkers: false,
} as const;

/** Loaded on first use, because it takes about 140 ms. */
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
    // The page, files and errors are served by our own code.
    setViewsPath: () => server,
    setStaticPath: () => server,
    setEntryRoute: (_: AppViewRoute) => server,
    setErrorHandler: () => server,
  };
  const adapters = opened.map(
    // Typed for BullMQ's default backend; the adapter only calls methods that every queue has.
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

/** Removes external resources and inline styles, which our Content-Security-Policy forbids. */
function pageOf(template: string): string {
  return template
    .replace(/<link[^>]*href="https?:[^>]*>\s*/g, '')
    .replace(/(<div id="root">)[\s\S]*?<\/style>\s*<\/div>/, '$1Loading</div>');
}

/** Parses `a=1&b=2&b=3` to `{a: '1', b: ['2', '3']}`. */
function valuesOf(query: URLSearchParams): Readonly<Record<string, string | string[]>> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name);
      return [name.replace(/\[\]$/, ''), values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}
