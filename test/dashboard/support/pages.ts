/** The pages without a socket: the dashboard over the routes that it calls, and a browser that keeps its cookie. */

import type { AccountLimits } from '../../../src/core/accounts/limits.ts';
import { limitNames } from '../../../src/core/accounts/limits.ts';
import { plans } from '../../../src/core/records.ts';
import { withDashboard } from '../../../src/dashboard/dashboard.ts';
import { createSessions, type Sessions } from '../../../src/dashboard/sessions.ts';
import { createAccountStore } from '../../../src/db/accounts.ts';
import { createApiKeyStore } from '../../../src/db/api-keys.ts';
import { createDomainSettingsStore } from '../../../src/db/domains/domain-settings.ts';
import { createTransact } from '../../../src/db/engine/transaction.ts';
import type { PrismaClient } from '../../../src/db/generated/client.ts';
import { createProjectStore } from '../../../src/db/projects.ts';
import { createSessionStore } from '../../../src/db/sessions.ts';
import { createIsSecret } from '../../../src/http/keys/auth.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { accountRoutes } from '../../../src/http/routes/accounts.ts';
import { hostnameRoutes } from '../../../src/http/routes/diagnosis.ts';
import { domainSettingsRoutes } from '../../../src/http/routes/domain-settings.ts';
import { keyRoutes } from '../../../src/http/routes/keys.ts';
import { sessionRoutes } from '../../../src/http/routes/sessions.ts';
import { platformDomain, publishingRoutes } from '../../http/publishing-routes.ts';
import { composeAudit, startTestApi, type TestApi } from '../../http/support.ts';
import { withinOwnLimits } from '../../support/access.ts';
import type { StorageName } from '../../support/storage.ts';

export type Shown = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

export type Pages = TestApi & {
  /** `show('GET /projects')`; `form`: what a form sends, with the token of the page that was shown last. */
  readonly show: (line: string, more?: Asked) => Promise<Shown>;
  readonly signIn: (key: string) => Promise<Shown>;
  readonly cookie: () => string | undefined;
  readonly forgetCookie: () => void;
  /** Has the browser send this cookie from now on. */
  readonly useCookie: (cookie: string | undefined) => void;
  /** A second process over the same database: what the first one remembers, it does not. */
  readonly beside: (more?: Partial<Sessions>) => Api;
  /** The sessions of such a process. */
  readonly sessionsBeside: () => Sessions;
  readonly sessions: Sessions;
  /** What the dashboard itself has logged and counted (`<operation> <status>`). */
  readonly recorded: { readonly lines: readonly LogLine[]; readonly counted: readonly string[] };
};

type LogLine = { readonly fields: Readonly<Record<string, unknown>>; readonly message: string };

export type Asked = {
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as AccountLimits;

/** `basePath`: what the public address has before the paths. */
export async function startPages(basePath = '', storage?: StorageName): Promise<Pages> {
  const sessionsOf = (prisma: PrismaClient, now: () => Date) =>
    createSessions({
      store: createSessionStore(prisma),
      transact: createTransact(prisma),
      note: composeAudit(prisma, now).note,
      secret: new Uint8Array(32),
      now,
      log: { warn: () => {} },
      accountPlans: plans,
    });
  const held: { sessions?: Sessions } = {};
  const started = await startTestApi(
    (prisma, now) => [
      ...sessionRoutes({
        sessions: createSessionStore(prisma),
        forget: (id) => held.sessions?.forget(id),
        now,
      }),
      ...accountRoutes({ accounts: createAccountStore(prisma), limits: noLimits, now }),
      ...publishingRoutes(prisma, now, {}),
      ...domainSettingsRoutes({
        projects: createProjectStore(prisma),
        settings: createDomainSettingsStore(prisma),
        platformDomain,
      }),
      ...hostnameRoutes({ platformDomain }),
      ...keyRoutes({
        accounts: createAccountStore(prisma),
        projects: createProjectStore(prisma),
        keys: createApiKeyStore(prisma),
        withinLimits: withinOwnLimits(prisma),
        forget: () => {},
        now,
      }),
    ],
    storage,
  );
  const log = {
    error: (fields: Readonly<Record<string, unknown>>, message: string) =>
      void started.errors.push({ fields, message }),
  };
  const lines: LogLine[] = [];
  const noteLine = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void lines.push({ fields, message });
  const counted: string[] = [];
  const now = () => started.clock.now;
  const sessions = sessionsOf(started.prisma, now);
  held.sessions = sessions;
  const process = (own: Sessions) =>
    withDashboard(started.api, {
      sessions: own,
      addressOf: ({ remoteAddress }) => remoteAddress ?? '',
      basePath,
      now,
      log: { ...log, info: noteLine, debug: noteLine },
      isSecret: createIsSecret(undefined),
      count: (operation, status) => void counted.push(`${operation} ${status}`),
    });
  const api = process(sessions);
  const others: Sessions[] = [];
  const sessionsBeside = () => {
    const own = sessionsOf(started.prisma, now);
    others.push(own);
    return own;
  };
  let cookie: string | undefined;
  let csrf = '';

  async function show(line: string, { form, headers = {} }: Asked = {}): Promise<Shown> {
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
      remoteAddress: '127.0.0.1',
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
    sessions,
    beside: (more = {}) => process({ ...sessionsBeside(), ...more }),
    sessionsBeside,
    async close() {
      for (const one of [sessions, ...others]) one.close();
      await started.close();
    },
    useCookie: (given) => {
      cookie = given;
    },
    recorded: { lines, counted },
    show,
    signIn: (key) => show('POST /sign-in', { form: { key } }),
    cookie: () => cookie,
    forgetCookie: () => {
      cookie = undefined;
    },
  };
}
