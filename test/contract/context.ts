/** Things for requests to be about: animals, projects, domains and keys, made over HTTP on a live service. */
import { randomUUID } from 'node:crypto';

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
  readonly keyId: string;
  readonly keyIdToRotate: string;
  readonly keyIdToRevoke: string;
  readonly rotatedKeyId: string;
  /** Of the key that has this one's place while both work. */
  readonly successorKeyId: string;
  readonly revokedKeyId: string;
};

/** Makes everything anew, so that what a run does to its context disturbs no other run. */
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
  for (const name of [hostname, hostnameToRemove]) {
    await post(`/v1/projects/${project.id}/domains`, { hostname: name });
  }
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
    keyId: pets.id,
    keyIdToRotate: toRotate.id,
    keyIdToRevoke: toRevoke.id,
    rotatedKeyId: rotated.id,
    successorKeyId: successor.id,
    revokedKeyId: revoked.id,
  };
}

export const aDeploy = { status: 'succeeded', upstream: 'http://127.0.0.1:9/' };

type Made = { readonly id: string; readonly key: string };

async function call(
  origin: string,
  key: string,
  method: 'POST' | 'DELETE',
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
