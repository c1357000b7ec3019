/** The API of a whole service without a socket, over a database of its own, and the routes that it has. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.ts';
import type { Api } from '../../src/http/pipeline/api.ts';
import type { Route } from '../../src/http/pipeline/route.ts';
import { routesOf } from '../../src/roles/routes.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { nothingCounted } from '../support/access.ts';
import { freshStorage } from '../support/storage.ts';

export type WholeApi = {
  readonly signpost: Signpost;
  readonly api: Api;
  /** Every route of the service, to be described; none of them is to be called itself. */
  readonly routes: readonly Route[];
  close(): Promise<void>;
};

/** `env`: variables beside those that a service needs. On PostgreSQL no workers run, so that nothing changes by itself. */
export async function startWholeApi(env: Readonly<Record<string, string>> = {}): Promise<WholeApi> {
  const fresh = await freshStorage();
  const { storage } = fresh;
  const loaded = loadConfig({
    ...(storage.kind === 'embedded'
      ? { DATA_DIR: storage.dataDir, EDGE_HTTP_PORT: '0', EDGE_HTTPS_PORT: '0' }
      : { DATABASE_URL: storage.databaseUrl, ROLE: 'api' }),
    PORT: '0',
    KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    ...env,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const signpost = await startSignpost(loaded.config, pino({ level: 'silent' }));
  const { api, parts } = signpost;
  if (api === null) throw new Error('this process has no API');
  const notAsked = () => Promise.reject(new Error('these routes are not asked'));
  const routes = routesOf({
    parts,
    dropTraffic: () => {},
    ...nothingCounted,
    forgetKey: () => {},
    forgetSession: () => {},
    readiness: notAsked,
    openStream: notAsked,
  });
  return {
    signpost,
    api,
    routes,
    async close() {
      await signpost.close(5_000);
      await fresh.close();
    },
  };
}
