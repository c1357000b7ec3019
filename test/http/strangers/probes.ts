/** Every operation that a key of an account may be used for, asked with the names of somebody. */
import { takesAccount } from '../../../src/http/openapi/refusals.ts';
import type { Route } from '../../../src/http/pipeline/route.ts';
import type { Names } from './parties.ts';

export type Probe = {
  readonly route: Route;
  readonly title: string;
  /** Method and target. */
  readonly line: string;
  readonly json?: object;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What a key of the asker's own account names beside what is asked for. */
type Own = Pick<Names, 'projectId' | 'webhookId' | 'hostname'>;
type Ask = {
  readonly of?: Partial<Names>;
  readonly json?: object;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};
type Asks = (theirs: Names, own: Own) => readonly Ask[];

const deploy = { status: 'succeeded', upstream: 'https://deploy.example/' };
const only =
  (json: object): Asks =>
  () => [{ json }];

const once: Asks = () => [{}];

/**
 * By operationId, where an operation takes a body or a query that can name what is somebody's: each entry is asked with the
 * path's parameters as theirs, but for what `of` replaces.
 */
const asks: Readonly<Record<string, Asks>> = {
  listProjects: ({ hostname }) => [{}, { query: { hostname } }],
  createProject: ({ accountId }) => [
    { json: { name: 'Taken', slug: 'taken', plan: 'pro', accountId } },
  ],
  updateProject: only({ name: 'Taken' }),
  createDeploy: only(deploy),
  addDomain: only({ hostname: 'added.stranger.test' }),
  putDomainSettings: ({ hostname }, own) => [
    { json: { domains: { primary: null, redirects: [] } } },
    { of: own, json: { domains: { primary: hostname, redirects: [] } } },
  ],
  putDomainHsts: (_theirs, own) => [
    { json: { maxAge: 1 } },
    { of: { projectId: own.projectId }, json: { maxAge: 1 } },
  ],
  deleteDomainHsts: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  getDomain: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  verifyDomain: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  removeDomain: (_theirs, own) => [
    { query: { orphans: 'drop' } },
    { of: { projectId: own.projectId }, query: { orphans: 'drop' } },
  ],
  getDomainTimeline: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  streamEvents: ({ hostname }, own) => [
    { headers: { 'last-event-id': '0' } },
    { query: { hostname } },
    { of: { projectId: own.projectId }, query: { hostname, checks: 'tell' } },
  ],
  diagnoseHostname: () => [{}],
  readHostname: () => [{ query: { text: 'docs.example.com' } }],
  createWebhook: only({ url: 'https://stranger.example/' }),
  updateWebhook: (_theirs, own) => [
    { json: { url: 'https://stranger.example/' } },
    { of: { projectId: own.projectId }, json: { enabled: false } },
  ],
  getWebhook: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  deleteWebhook: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  rotateWebhookSecret: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  listWebhookDeliveries: (_theirs, own) => [{}, { of: { projectId: own.projectId } }],
  replayWebhookEvents: (_theirs, own) => [
    { json: { after: 0 } },
    { of: { projectId: own.projectId }, json: { after: 0 } },
    { of: { webhookId: own.webhookId }, json: { event: 1 } },
  ],
  createKey: ({ accountId, projectId }) => [
    { json: { name: 'Taken', scopes: ['domains:read'], accountId } },
    { json: { name: 'Taken', scopes: ['domains:read'], projectIds: [projectId] } },
  ],
  rotateKey: only({ graceSeconds: 0 }),
};

/** Operations of routes that take a body and are not asked above: the test fails on them. */
export function unknownBodies(routes: readonly Route[]): readonly string[] {
  return routes
    .filter((route) => takesAccount(route) && route.body !== undefined)
    .map(({ operationId }) => operationId)
    .filter((operationId) => !Object.hasOwn(asks, operationId));
}

/** All of them, in the order of the routes. */
export function probesOf(routes: readonly Route[], theirs: Names, own: Own): readonly Probe[] {
  return routes.filter(takesAccount).flatMap((route) =>
    (asks[route.operationId] ?? once)(theirs, own).map((ask, at) => {
      const names: Names = { ...theirs, ...ask.of };
      const path = route.path.replace(/:(\w+)/g, (_, name: keyof Names) => names[name]);
      const query = ask.query === undefined ? '' : `?${new URLSearchParams(ask.query)}`;
      const { json, headers } = ask;
      return {
        route,
        title: `${route.operationId} (${at})`,
        line: `${route.method} ${path}${query}`,
        ...(json && { json }),
        ...(headers && { headers }),
      };
    }),
  );
}
