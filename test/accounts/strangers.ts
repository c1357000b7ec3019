/** Every operation with the IDs of another account, and what its response must not tell. */
import { z } from 'zod';
import { accountScopes, type Scope } from '../../src/core/operations/scopes.ts';
import type { Headers, Route } from '../../src/http/pipeline/route.ts';
import { API_KEY, type Customer, type TwoAccounts } from './two-accounts.ts';

/** A key that must not see the customer. */
export type Stranger = {
  readonly title: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The stranger's. */
  readonly projectId: string;
  /** A key of the customer's account, which sees the account but not the project. */
  readonly isOfAccount?: true;
  /** A scope that reaches everything, so operations with it are not compared. */
  readonly sees?: Scope;
};

/** Every kind of key that must not see what `one` has. */
export async function strangersOf(
  call: TwoAccounts['call'],
  one: Customer,
  other: Customer,
): Promise<readonly Stranger[]> {
  const aKey = async (
    title: string,
    scopes: readonly string[],
    more: object,
  ): Promise<Stranger> => {
    const json = { name: title, scopes, ...more };
    const { body } = await call('POST /v1/keys', { key: API_KEY, json });
    return { title, key: (body as { key: string }).key, projectId: other.projectId };
  };
  const { accountId } = other;
  const acting = { 'signpost-account': accountId };
  const projects = { accountId, projectIds: [other.projectId] };
  const own = { accountId: one.accountId, projectIds: [one.otherProjectId] };
  const write = ['domains:read', 'domains:write', 'projects:write'];
  const manage = ['keys:read', 'keys:write'];
  return [
    {
      title: "another account's key with every scope",
      key: other.key,
      projectId: other.projectId,
    },
    await aKey("another account's key that reads", ['domains:read'], { accountId }),
    await aKey("another account's key that writes", ['domains:write'], { accountId }),
    await aKey("another account's key that changes projects", ['projects:write'], { accountId }),
    await aKey("another account's key that manages keys", manage, { accountId }),
    await aKey("another account's key that reads keys", ['keys:read'], { accountId }),
    await aKey("another account's key of one project", write, projects),
    {
      ...(await aKey('a key of another project of the account', write, own)),
      projectId: one.otherProjectId,
      isOfAccount: true,
    },
    await revoked(call, await aKey('a revoked key', write, { accountId: one.accountId })),
    await aKey("the store's key", ['pets:read', 'pets:write'], {}),
    { ...(await aKey("an operator's key", ['ops:read'], {})), sees: 'ops:read' },
    { ...(await aKey('a backend, acting for another account', write, {})), headers: acting },
    {
      title: "the platform's key, acting for another account",
      key: API_KEY,
      headers: acting,
      projectId: other.projectId,
    },
  ];
}

async function revoked(call: TwoAccounts['call'], stranger: Stranger): Promise<Stranger> {
  const id = stranger.key.split('_')[1];
  const { status } = await call(`DELETE /v1/keys/${id}`, { key: API_KEY });
  if (status !== 204) throw new Error(`the key is not revoked: ${status}`);
  return stranger;
}

/** A request to the route about this customer's things. */
export type Asking = {
  readonly line: string;
  readonly json?: unknown;
  readonly headers: Headers;
};

/** Cursors of the customer's second pages, by operation. */
export type Cursors = ReadonlyMap<string, string>;

export async function cursorsOf(
  call: TwoAccounts['call'],
  routes: readonly Route[],
  customer: Customer,
): Promise<Cursors> {
  const cursors = new Map<string, string>();
  for (const { operationId, path } of routes.filter(isList)) {
    const key = operationId === 'listAccounts' ? API_KEY : customer.key;
    const { headers } = await call(`GET ${pathOf(path, customer)}?limit=1`, { key });
    const [, cursor] = /cursor=([^>&]+)/.exec(headers['link'] ?? '') ?? [];
    if (cursor !== undefined) cursors.set(operationId, cursor);
  }
  return cursors;
}

/** Of what an account has, in pages. */
export function isList({ query, scope }: Route): boolean {
  return (
    query instanceof z.ZodObject &&
    'cursor' in query.shape &&
    accountScopes.some((one) => one === scope)
  );
}

export function pathOf(path: string, customer: Customer): string {
  return path.replace(/:(\w+)/g, (_, name: string) => ownValue(name, customer));
}

/** The route's example body with the customer's IDs and names. */
export function askingFor(
  route: Route,
  customer: Customer,
  cursors: Cursors = new Map(),
): readonly Asking[] {
  const { method, operationId, bodyExample } = route;
  const path = pathOf(route.path, customer);
  const bodies = bodiesOf[operationId]?.(customer) ?? [bodyExample];
  const cursor = cursors.get(operationId);
  const more = [
    ...(queriesOf[operationId]?.(customer) ?? []),
    ...(cursor === undefined ? [] : [`?limit=1&cursor=${cursor}`]),
  ];
  const queries = operationId === 'readHostname' ? more : ['', ...more];
  return queries.flatMap((query) =>
    bodies.flatMap((json) =>
      headersFor(route, customer).map((headers) => ({
        line: `${method} ${path}${query}`,
        ...(json !== undefined && { json }),
        headers,
      })),
    ),
  );
}

function headersFor(
  { method, isRepeated, operationId }: Route,
  { usedIdempotencyKey }: Customer,
): readonly Headers[] {
  if (operationId === 'streamEvents') {
    return [{}, ...['0', '1', '2', '999'].map((id) => ({ 'last-event-id': id }))];
  }
  const isOnce = method === 'POST' && isRepeated !== true;
  return isOnce ? [{}, { 'idempotency-key': usedIdempotencyKey }] : [{}];
}

/** Parameters without an owner have the same value for every customer. */
function ownValue(name: string, customer: Customer): string {
  const values: Readonly<Record<string, string>> = {
    ...customer,
    petId: '1',
    escalationId: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60',
    processId: '0d4c7d5e-1111-4c4f-8a88-0a4f0b1f2a3c',
    section: 'domains',
  };
  const value = values[name];
  if (value === undefined) throw new Error(`the test has no value for :${name}`);
  return value;
}

type ByOperation<T> = Readonly<Record<string, (customer: Customer) => readonly T[]>>;

const bodiesOf: ByOperation<unknown> = {
  createProject: ({ accountId }) => [{ name: 'New', slug: 'new', plan: 'pro', accountId }],
  createKey: ({ accountId, projectId }) => [
    { name: 'New', scopes: ['domains:read'], accountId },
    { name: 'New', scopes: ['domains:read'], accountId, projectIds: [projectId] },
    { name: 'New', scopes: ['domains:read'], projectIds: [projectId] },
  ],
  addDomain: ({ hostname }) => [{ hostname }],
  putDomainSettings: ({ hostname }) => [
    { domains: { primary: hostname, redirects: [] } },
    { domains: { primary: null, redirects: [] } },
  ],
  updateProject: ({ accountId }) => [{ name: 'Changed' }, { accountId }],
  updateWebhook: () => [{ url: 'https://changed.example/hook' }],
  replayWebhookEvents: () => [{ after: 0n }],
  replayOperatorWebhookEvents: ({ projectId }) => [{ projectId, after: 0n }],
};

const queriesOf: ByOperation<string> = {
  readHostname: ({ hostname }) => [`?text=${hostname}`],
  listProjects: ({ hostname, mark }) => [`?hostname=${hostname}`, `?metadata[of]=${mark}`],
  listAllDomains: ({ hostname, mark }) => [`?hostname=${hostname}`, `?search=${mark}`],
  streamEvents: ({ hostname }) => [`?hostname=${hostname}`, `?hostname=${hostname}&checks=tell`],
  diagnoseHostname: () => ['?target=x.edge.signpost.test', '?reach=true'],
};
