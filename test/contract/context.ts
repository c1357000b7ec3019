/** Pets, projects, domains and keys, created over HTTP on a live service. */
import { randomUUID } from 'node:crypto';
import { escalationIds, processIds } from './services.ts';

export type Context = {
  /** An admin key; its id is `configured`. */
  readonly key: string;
  /** Keys with one scope each. */
  readonly petsKey: string;
  readonly domainsKey: string;
  /** Unique to this context. */
  readonly unique: string;
  /** The first one has a project, and the last one is closed. */
  readonly accountId: string;
  readonly accountIdToClose: string;
  readonly closedAccountId: string;
  /** Of one project of the account. */
  readonly restrictedKey: string;
  /** Of the account; creates keys that do not outlive it. */
  readonly expiringKey: string;
  /** Of the account, without an end. */
  readonly lastingKeyId: string;
  readonly petId: string;
  /** A paid project with a deploy. */
  readonly projectId: string;
  readonly freeProjectId: string;
  /** A paid project without a deploy. */
  readonly undeployedProjectId: string;
  readonly projectIdToDelete: string;
  /** Of the paid project. */
  readonly deployId: string;
  /** Domains of the project; the second one is for removal. */
  readonly hostname: string;
  readonly hostnameToRemove: string;
  /** Of the first one. */
  readonly domainId: string;
  /** Unique to this context. */
  readonly escalationId: string;
  /** Refused. */
  readonly processId: string;
  /** The project's primary domain, and one that redirects to it. */
  readonly hostnameInUse: string;
  readonly hostnameThatRedirects: string;
  readonly webhookId: string;
  /** Switched off. */
  readonly disabledWebhookId: string;
  /** The same two for an operator. */
  readonly operatorWebhookId: string;
  readonly disabledOperatorWebhookId: string;
  readonly keyId: string;
  readonly keyIdToRotate: string;
  readonly keyIdToRevoke: string;
  readonly rotatedKeyId: string;
  /** The successor of a rotated key while both work. */
  readonly successorKeyId: string;
  readonly revokedKeyId: string;
  /** Of `petsKey`. */
  readonly sessionId: string;
};

/** Creates all of it again, so that runs do not affect each other. */
export async function makeContext(origin: string, key: string): Promise<Context> {
  const post = (path: string, body: object) => call(origin, key, 'POST', path, body);
  const unique = randomUUID().slice(0, 8);
  const makeProject = (name: string, plan: string) =>
    post('/v1/projects', { name, slug: `${name}-${unique}`, plan });
  const makeKey = (scope: string) =>
    post('/v1/keys', { name: `${scope} ${unique}`, scopes: [scope] });

  const makeAccount = () => post('/v1/accounts', { name: `Customer ${unique}` });
  const account = await makeAccount();
  const closed = await makeAccount();
  await call(origin, key, 'DELETE', `/v1/accounts/${closed.id}`);
  const theirs = await post('/v1/projects', {
    name: 'T',
    slug: `docs-${unique}`, // as the project in the default account
    accountId: account.id,
  });
  const restricted = await post('/v1/keys', {
    name: `one project ${unique}`,
    scopes: ['domains:read', 'projects:write'],
    accountId: account.id,
    projectIds: [theirs.id],
  });
  const expiring = await post('/v1/keys', {
    name: `expiring ${unique}`,
    scopes: ['keys:read', 'keys:write'],
    accountId: account.id,
    expiresAt: '2089-01-01T00:00:00Z',
  });
  const lasting = await post('/v1/keys', {
    name: 'lasting',
    scopes: ['keys:read'],
    accountId: account.id,
  });
  const pet = await post('/v1/pets', { name: `Rex ${unique}`, categoryId: 7 });
  const project = await makeProject('docs', 'pro');
  const free = await makeProject('free', 'free');
  const undeployed = await makeProject('undeployed', 'pro');
  const toDelete = await makeProject('gone', 'pro');
  const deploy = await post(`/v1/projects/${project.id}/deploys`, aDeploy);
  const [hostname, hostnameToRemove] = [`docs.shop-${unique}.test`, `old.shop-${unique}.test`];
  const [hostnameInUse, hostnameThatRedirects] = [
    `www.shop-${unique}.test`,
    `w.shop-${unique}.test`,
  ];
  for (const name of [hostname, hostnameToRemove, hostnameInUse, hostnameThatRedirects]) {
    await post(`/v1/projects/${project.id}/domains`, { hostname: name });
  }
  const redirects = [{ from: hostnameThatRedirects, to: hostnameInUse, status: 301 }];
  await call(origin, key, 'PUT', `/v1/projects/${project.id}/domain-settings`, {
    domains: { primary: hostnameInUse, redirects },
  });
  const webhook = { url: 'https://hooks.example.com/', events: ['domain.live'] };
  async function makeWebhooks(path: string): Promise<readonly [string, string]> {
    const [on, off] = [await post(path, webhook), await post(path, webhook)];
    await call(origin, key, 'PATCH', `${path}/${off.id}`, { enabled: false });
    return [on.id, off.id];
  }
  const [webhookId, disabledWebhookId] = await makeWebhooks(`/v1/projects/${project.id}/webhooks`);
  const [operatorWebhookId, disabledOperatorWebhookId] = await makeWebhooks('/v1/webhooks');
  const pets = await makeKey('pets:read');
  const [toRotate, toRevoke, rotated, revoked] = [
    await makeKey('pets:write'),
    await makeKey('pets:write'),
    await makeKey('pets:write'),
    await makeKey('pets:write'),
  ];
  const successor = await post(`/v1/keys/${rotated.id}/rotate`, { graceSeconds: 600 });
  await call(origin, key, 'DELETE', `/v1/keys/${revoked.id}`);
  return {
    key,
    petsKey: pets.key,
    domainsKey: (await makeKey('domains:read')).key,
    unique,
    accountId: account.id,
    accountIdToClose: (await makeAccount()).id,
    closedAccountId: closed.id,
    restrictedKey: restricted.key,
    expiringKey: expiring.key,
    lastingKeyId: lasting.id,
    petId: pet.id,
    projectId: project.id,
    freeProjectId: free.id,
    undeployedProjectId: undeployed.id,
    projectIdToDelete: toDelete.id,
    deployId: deploy.id,
    hostname,
    hostnameToRemove,
    domainId: await findDomain(origin, key, hostname),
    escalationId: escalationIds[contexts++ % escalationIds.length] ?? '',
    processId: processIds[contexts % processIds.length] ?? '',
    hostnameInUse,
    hostnameThatRedirects,
    webhookId,
    disabledWebhookId,
    operatorWebhookId,
    disabledOperatorWebhookId,
    keyId: pets.id,
    keyIdToRotate: toRotate.id,
    keyIdToRevoke: toRevoke.id,
    rotatedKeyId: rotated.id,
    successorKeyId: successor.id,
    revokedKeyId: revoked.id,
    sessionId: await signIn(origin, key, pets.key),
  };
}

let contexts = 0;

async function signIn(origin: string, admin: string, key: string): Promise<string> {
  const body = new URLSearchParams({ key });
  await fetch(`${origin}/sign-in`, { method: 'POST', body, redirect: 'manual' });
  const headers = { authorization: `Bearer ${admin}` };
  const response = await fetch(`${origin}/v1/sessions?limit=1`, { headers });
  const [newest] = (await response.json()) as readonly Made[]; // the documented response
  return newest?.id ?? '';
}

async function findDomain(origin: string, key: string, hostname: string): Promise<string> {
  const path = `/v1/operations/domains?hostname=${hostname}`;
  const response = await fetch(origin + path, { headers: { authorization: `Bearer ${key}` } });
  const [found] = (await response.json()) as readonly Made[]; // the documented response
  return found?.id ?? '';
}

export const aDeploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };

type Made = { readonly id: string; readonly key: string };

async function call(
  origin: string,
  key: string,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<Made> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  if (text === '') return { id: '', key: '' };
  const { id, key: made = '' } = JSON.parse(text) as { id: string | number; key?: string }; // the documented responses
  return { id: String(id), key: made };
}
