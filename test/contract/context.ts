/** Things for requests to be about: animals, projects, domains and keys, made over HTTP on a live service. */
import { randomUUID } from 'node:crypto';
import { escalationIds } from './services.ts';

export type Context = {
  /** An administrator's key, which may do everything; its id is `configured`. */
  readonly key: string;
  /** Keys that may do one thing each. */
  readonly petsKey: string;
  readonly domainsKey: string;
  /** In no other context. */
  readonly unique: string;
  readonly petId: string;
  /** Of a paid project with a deploy. */
  readonly projectId: string;
  readonly freeProjectId: string;
  /** Of a paid project without a deploy. */
  readonly undeployedProjectId: string;
  /** Domains of the project; the second one is there to be removed. */
  readonly hostname: string;
  readonly hostnameToRemove: string;
  /** Of the first one. */
  readonly domainId: string;
  /** In no other context. */
  readonly escalationId: string;
  /** The project's primary domain, with HSTS, and one that redirects to it. */
  readonly hostnameInUse: string;
  readonly hostnameThatRedirects: string;
  readonly webhookId: string;
  /** Switched off. */
  readonly disabledWebhookId: string;
  /** The same two of an operator. */
  readonly operatorWebhookId: string;
  readonly disabledOperatorWebhookId: string;
  readonly keyId: string;
  readonly keyIdToRotate: string;
  readonly keyIdToRevoke: string;
  readonly rotatedKeyId: string;
  /** Of the key that has this one's place while both work. */
  readonly successorKeyId: string;
  readonly revokedKeyId: string;
  /** With a domain, and a project for which alone `restrictedKey` is. */
  readonly accountId: string;
  readonly accountIdToClose: string;
  /** A project of the account. */
  readonly accountProjectId: string;
  readonly restrictedKey: string;
  /** With `admin`, of the account. */
  readonly accountKey: string;
  /** Of somebody who is signed in to the dashboard. */
  readonly sessionId: string;
};

/** Makes everything again, so that what a run does to its context disturbs no other run. */
export async function makeContext(origin: string, key: string): Promise<Context> {
  const post = (path: string, body: object) => call(origin, key, 'POST', path, body);
  const unique = randomUUID().slice(0, 8);
  const makeProject = (name: string, plan: string) =>
    post('/v1/projects', { name, slug: `${name}-${unique}`, plan });
  const makeKey = (scope: string) =>
    post('/v1/keys', { name: `${scope} ${unique}`, scopes: [scope] });

  const pet = await post('/v1/pets', { name: `Rex ${unique}`, categoryId: 7 });
  const project = await makeProject('docs', 'pro');
  const free = await makeProject('free', 'free');
  const undeployed = await makeProject('undeployed', 'pro');
  await post(`/v1/projects/${project.id}/deploys`, aDeploy);
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
  await call(origin, key, 'PUT', `/v1/projects/${project.id}/domains/${hostnameInUse}/hsts`, {
    maxAge: 300,
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
    petId: pet.id,
    projectId: project.id,
    freeProjectId: free.id,
    undeployedProjectId: undeployed.id,
    hostname,
    hostnameToRemove,
    domainId: await findDomain(origin, key, hostname),
    escalationId: escalationIds[contexts++ % escalationIds.length] ?? '',
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
    ...(await makeAccounts(post, unique)),
    sessionId: await signIn(origin, key, (await makeKey('domains:read')).key),
  };
}

let contexts = 0;

type Post = (path: string, body: object) => Promise<Made>;

async function makeAccounts(post: Post, unique: string) {
  const [account, toClose] = [
    await post('/v1/accounts', { name: `Shop ${unique}` }),
    await post('/v1/accounts', { name: `Closing ${unique}` }),
  ];
  const accountId = account.id;
  const project = await post('/v1/projects', { name: 'P', slug: 'p', plan: 'pro', accountId });
  await post(`/v1/projects/${project.id}/deploys`, aDeploy);
  await post(`/v1/projects/${project.id}/domains`, { hostname: `of.account-${unique}.test` });
  const ofAccount = { name: `of ${unique}`, accountId };
  const scopes = ['domains:read', 'domains:write'];
  const projectIds = [project.id];
  return {
    accountId,
    accountIdToClose: toClose.id,
    accountProjectId: project.id,
    restrictedKey: (await post('/v1/keys', { ...ofAccount, scopes, projectIds })).key,
    accountKey: (await post('/v1/keys', { ...ofAccount, scopes: ['admin'] })).key,
  };
}

/** Signs in with `signedIn`, and gives the id of that session, which is the newest. */
async function signIn(origin: string, key: string, signedIn: string): Promise<string> {
  const body = new URLSearchParams({ key: signedIn });
  await fetch(`${origin}/sign-in`, { method: 'POST', body, redirect: 'manual' });
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${origin}/v1/sessions`, { headers });
  const sessions = (await response.json()) as readonly (Made & { keyId: string })[]; // the documented answer
  const [, keyId] = signedIn.split('_');
  return sessions.find((one) => one.keyId === keyId)?.id ?? '';
}

async function findDomain(origin: string, key: string, hostname: string): Promise<string> {
  const path = `/v1/operations/domains?hostname=${hostname}`;
  const response = await fetch(origin + path, { headers: { authorization: `Bearer ${key}` } });
  const [found] = (await response.json()) as readonly Made[]; // the documented answer
  return found?.id ?? '';
}

export const aDeploy = { status: 'succeeded', upstream: 'http://deploy.test/' };

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
  const { id, key: made = '' } = JSON.parse(text) as { id: string | number; key?: string }; // the documented answers
  return { id: String(id), key: made };
}
