/** Two accounts on one service, each with everything that an account can have; and ids of nobody in the same forms. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Api } from '../../../src/http/pipeline/api.ts';
import { type CallResult, callApi } from '../support.ts';

/** What a request can name. */
export type Names = {
  readonly accountId: string;
  readonly projectId: string;
  readonly hostname: string;
  readonly webhookId: string;
  readonly keyId: string;
  readonly domainId: string;
  readonly escalationId: string;
  readonly sessionId: string;
};

export type Party = Names & {
  readonly adminKey: string;
  readonly writeKey: string;
  readonly readKey: string;
  /** Of the account, for its second project alone. */
  readonly restrictedKey: string;
  readonly secondProjectId: string;
  /** Texts that occur in nothing but what is this party's. */
  readonly marks: readonly string[];
};

const deploy = { status: 'succeeded', upstream: 'https://deploy.example/' };

/** Calls as an administrator, and throws where the answer is no success. */
export type Call = (line: string, json?: object) => Promise<CallResult>;

export function callAs(api: Api, key: string, headers = {}): Call {
  return async (line, json) => {
    const answer = await callApi(api, line, { key, headers, ...(json && { json }) });
    if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${answer.text}`);
    return answer;
  };
}

const idIn = ({ body }: CallResult) => (body as { readonly id: string }).id; // the documented answers
const tokenIn = ({ body }: CallResult) => (body as { readonly key: string }).key;

export async function makeParty(api: Api, operator: Call): Promise<Party> {
  const mark = `mark${randomBytes(6).toString('hex')}`;
  const accountId = idIn(await operator('POST /v1/accounts', { name: `Account ${mark}` }));
  const makeProject = async (name: string) => {
    const body = { name: `${name} ${mark}`, slug: name, plan: 'pro', accountId };
    const id = idIn(await operator('POST /v1/projects', body));
    await operator(`POST /v1/projects/${id}/deploys`, deploy);
    return id;
  };
  const makeKey = (scopes: readonly string[], projectIds: readonly string[] = []) =>
    operator('POST /v1/keys', { name: `key ${mark}`, scopes, accountId, projectIds });
  const [projectId, secondProjectId] = [await makeProject('docs'), await makeProject('shop')];
  const hostname = `docs.${mark}.test`;
  const added = await operator(`POST /v1/projects/${projectId}/domains`, { hostname });
  const settings = { domains: { primary: hostname, redirects: [] } };
  await operator(`PUT /v1/projects/${projectId}/domain-settings`, settings);
  await operator(`PUT /v1/projects/${projectId}/domains/${hostname}/hsts`, { maxAge: 300 });
  const webhook = { url: `https://${mark}.example/`, events: [] };
  const webhookId = idIn(await operator(`POST /v1/projects/${projectId}/webhooks`, webhook));
  const found = await operator(`GET /v1/operations/domains?hostname=${hostname}`);
  const [domain] = found.body as readonly { readonly id: string }[]; // the documented answer
  const reader = await makeKey(['domains:read']);
  const adminKey = tokenIn(await makeKey(['admin']));
  const { value } = (added.body as { readonly record: { readonly value: string } }).record;
  const ids = [accountId, projectId, secondProjectId, webhookId, idIn(reader)];
  return {
    accountId,
    projectId,
    secondProjectId,
    hostname,
    webhookId,
    keyId: idIn(reader),
    domainId: domain?.id ?? '',
    escalationId: randomUUID(),
    sessionId: await signIn(api, adminKey),
    adminKey,
    writeKey: tokenIn(await makeKey(['domains:read', 'domains:write'])),
    readKey: tokenIn(reader),
    restrictedKey: tokenIn(await makeKey(['domains:read', 'domains:write'], [secondProjectId])),
    marks: [mark, value, ...ids],
  };
}

/** Signs in to the dashboard; the id of the session. */
async function signIn(api: Api, key: string): Promise<string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  await callApi(api, 'POST /sign-in', { headers, raw: `${new URLSearchParams({ key })}` });
  const { body } = await callApi(api, 'GET /v1/sessions', { key });
  const [session] = body as readonly { readonly id: string }[]; // the documented answer
  if (session === undefined) throw new Error('nobody signed in');
  return session.id;
}

/** Names of nobody, new each time. */
export function nobody(): Names {
  return {
    accountId: randomUUID(),
    projectId: randomUUID(),
    hostname: `docs.none${randomBytes(6).toString('hex')}.test`,
    webhookId: randomUUID(),
    keyId: randomBytes(6).toString('hex'),
    domainId: randomUUID(),
    escalationId: randomUUID(),
    sessionId: randomUUID(),
  };
}
