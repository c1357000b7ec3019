/** The dashboard of a real service without workers; tests write the database. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { loadConfig } from '../../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../../src/start.ts';
import { storageOf } from '../../process/support.ts';

export const API_KEY = 'a-key-for-the-dashboard';

export type RunningDashboard = {
  readonly signpost: Signpost;
  /** Without a trailing slash. */
  readonly url: string;
  /** One API call with the key; the caller declares the response type. */
  readonly api: <T>(method: string, path: string, body?: unknown) => Promise<T>;
  /** A project on a paid plan with a deploy; returns its id. */
  readonly aProject: (name?: string) => Promise<string>;
  /** Restarts the service at the same address over the same database. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export async function startDashboard(
  more: Readonly<Record<string, string>> = {},
  storage = storageOf(),
): Promise<RunningDashboard> {
  const fresh = await storage;
  const ports = { PORT: '0', EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' };
  const loaded = loadConfig({
    ...fresh.env,
    ...ports,
    ROLE: 'api',
    API_KEY,
    UPSTREAM_NETWORKS: '127.0.0.0/8',
    ...more,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  const log = pino({ level: 'silent' });
  let signpost = await startSignpost(config, log);
  const url = signpost.addresses.http ?? '';

  async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T; // documented shapes of the API
  }

  return {
    get signpost() {
      return signpost;
    },
    url,
    api,
    async aProject(name = 'The shop') {
      const slug = `shop-${randomUUID().slice(0, 8)}`;
      const { id } = await api<{ id: string }>('POST', '/v1/projects', { name, slug, plan: 'pro' });
      const deploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9' };
      await api('POST', `/v1/projects/${id}/deploys`, deploy);
      return id;
    },
    async restart() {
      await signpost.close(5_000);
      const port = Number(new URL(url).port);
      signpost = await startSignpost({ ...config, http: { ...config.http, port } }, log);
    },
    async close() {
      await signpost.close(5_000);
      await fresh.close();
    },
  };
}

/** Signs in with the form and continues to `then`. */
export async function signIn(page: Page, url: string, then = '/projects'): Promise<void> {
  await page.goto(`${url}/?then=${encodeURIComponent(then)}`);
  await page.fill('#key', API_KEY);
  await Promise.all([page.waitForURL(url + then), page.click('button:has-text("Sign in")')]);
}
