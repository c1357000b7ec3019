/** The pages without a socket: the dashboard over its API routes, and a browser with a cookie. */

import { withDashboard } from '../../../src/dashboard/dashboard.ts';
import { createSignInLimiters } from '../../../src/http/limits/rate-limit.ts';
import { hostnameRoute } from '../../../src/http/routes/diagnosis.ts';
import { domainSettingsRoutes } from '../../../src/http/routes/domain-settings.ts';
import { keyRoutes } from '../../../src/http/routes/keys.ts';
import { sessionRoutes } from '../../../src/http/routes/sessions.ts';
import { publishingRoutes } from '../../http/publishing-routes.ts';
import { startTestApi, type TestApi } from '../../http/support.ts';
import { plainService } from '../../support/plain-service.ts';
import type { StorageName } from '../../support/storage.ts';

type Shown = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

export type Pages = TestApi & {
  /** `show('GET /projects')`; `form`: the fields, submitted with the token of the last page. */
  readonly show: (line: string, more?: Asked) => Promise<Shown>;
  readonly signIn: (key: string) => Promise<Shown>;
  readonly cookie: () => string | undefined;
  readonly forgetCookie: () => void;
  /** The dashboard's own log lines and counters (`<operation> <status>`). */
  readonly recorded: { readonly lines: readonly LogLine[]; readonly counted: readonly string[] };
};

type LogLine = { readonly fields: Readonly<Record<string, unknown>>; readonly message: string };

type Asked = {
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly remoteAddress?: string;
};

/** `basePath`: the path prefix of the public URL. */
export async function startPages(
  basePath = '',
  storage?: StorageName,
  env: Readonly<Record<string, string>> = {},
): Promise<Pages> {
  const started = await startTestApi(
    (service) => [
      ...publishingRoutes(service),
      ...domainSettingsRoutes(service),
      hostnameRoute(service),
      ...keyRoutes(service, () => {}),
      ...sessionRoutes(service, () => {}),
    ],
    {
      storage,
      env: {
        ...env,
        ...(basePath !== '' && { BASE_URL: `https://api.example.com${basePath}/v1` }),
      },
    },
  );
  const lines: LogLine[] = [];
  const noteLine = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push({ fields, message });
  const counted: string[] = [];
  const { service } = started;
  const ofPages = plainService({
    config: service.config,
    secrets: service.secrets,
    queues: service.queues,
    sessions: service.sessions,
    audit: service.audit,
    database: service.database,
    now: service.now,
    log: { error: service.log.error, info: noteLine, debug: noteLine },
    metrics: { request: (operation, status) => void counted.push(`${operation} ${status}`) },
  });
  const api = withDashboard(ofPages, started.api, {
    forget: started.forget,
    signIns: createSignInLimiters(service.now),
  });
  let cookie: string | undefined;
  let csrf = '';

  async function show(
    line: string,
    { form, headers = {}, remoteAddress = '127.0.0.1' }: Asked = {},
  ): Promise<Shown> {
    const [method = '', target = ''] = line.split(' ');
    const bytes = Buffer.from(new URLSearchParams({ csrf, ...form }).toString());
    const answer = await api.handle({
      method,
      target,
      headers: {
        accept: 'text/html',
        ...(cookie !== undefined && { cookie }),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      readBody: async () => ({ kind: 'bytes', bytes }),
      remoteAddress,
    });
    const set = answer.headers['set-cookie'];
    if (set !== undefined) cookie = /max-age=0/i.test(set) ? undefined : set.split(';')[0];
    const text = answer.body ?? '';
    csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? csrf;
    return { status: answer.status, headers: answer.headers, text };
  }

  return {
    ...started,
    api,
    recorded: { lines, counted },
    show,
    signIn: (key) => show('POST /sign-in', { form: { key } }),
    cookie: () => cookie,
    forgetCookie: () => {
      cookie = undefined;
    },
  };
}
