/** Every operation with the IDs of another account, and what its response must not tell. */
import type { Route } from '../../src/http/pipeline/route.ts';
import { API_KEY, absent, type Customer, replaceBigint, type TwoAccounts } from './two-accounts.ts';

/** A key that must not see the customer. */
export type Stranger = {
  readonly title: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A key of the customer's account, which sees the account but not the project. */
  readonly isOfAccount?: true;
};

/** The keys of `stranger`, and one of the customer itself that is restricted to another project. */
export async function strangersOf({ call, one, other }: TwoAccounts): Promise<readonly Stranger[]> {
  const aKey = async (
    title: string,
    scopes: readonly string[],
    more: object,
  ): Promise<Stranger> => {
    const json = { name: title, scopes, ...more };
    const { body } = await call('POST /v1/keys', { key: API_KEY, json });
    return { title, key: (body as { key: string }).key };
  };
  const { accountId } = other;
  const projects = { accountId, projectIds: [other.projectId] };
  const own = { accountId: one.accountId, projectIds: [one.otherProjectId] };
  const write = ['domains:read', 'domains:write'];
  return [
    { title: "another account's key with every scope", key: other.key },
    await aKey("another account's key that reads", ['domains:read'], { accountId }),
    await aKey("another account's key that writes", ['domains:write'], { accountId }),
    await aKey("another account's key of one project", write, projects),
    { ...(await aKey('a key of another project of the account', write, own)), isOfAccount: true },
    {
      title: "the platform's key, acting for another account",
      key: API_KEY,
      headers: { 'signpost-account': accountId },
    },
  ];
}

/** A request to the route about this customer's things. */
export type Asking = {
  readonly line: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The route's example body with the customer's IDs and names. */
export function askingFor(route: Route, customer: Customer): readonly Asking[] {
  const { method, operationId, bodyExample } = route;
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => ownValue(name, customer));
  const bodies = bodiesOf[operationId]?.(customer) ?? [bodyExample];
  const more = queriesOf[operationId]?.(customer) ?? [];
  const queries = operationId === 'readHostname' ? more : ['', ...more];
  return queries.flatMap((query) =>
    bodies.map((json) => ({
      line: `${method} ${path}${query}`,
      ...(json !== undefined && { json }),
      ...headersOf[operationId]?.(customer),
    })),
  );
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
  putDomainSettings: ({ hostname }) => [{ domains: { primary: hostname, redirects: [] } }],
  replayOperatorWebhookEvents: ({ projectId }) => [{ projectId, after: 0n }],
};

const queriesOf: ByOperation<string> = {
  readHostname: ({ hostname }) => [`?text=${hostname}`],
  listProjects: ({ hostname, mark }) => [`?hostname=${hostname}`, `?metadata[of]=${mark}`],
  listAllDomains: ({ hostname, mark }) => [`?hostname=${hostname}`, `?search=${mark}`],
  streamEvents: ({ hostname }) => [`?hostname=${hostname}&checks=tell`],
  diagnoseHostname: () => ['?target=x.edge.signpost.test', '?reach=true'],
};

const headersOf: Readonly<Record<string, (customer: Customer) => Pick<Asking, 'headers'>>> = {
  streamEvents: () => ({ headers: { 'last-event-id': '0' } }),
};

/** What the stranger learns of the customer: no difference to IDs that never existed. */
export async function leaksTo(
  { call }: Pick<TwoAccounts, 'call'>,
  stranger: Stranger,
  routes: readonly Route[],
  customer: Customer,
): Promise<readonly string[]> {
  const nobody = absent(customer, stranger);
  const leaks: string[] = [];
  const asked = async ({ line, json, headers }: Asking) => {
    const { key } = stranger;
    const all = { ...stranger.headers, ...headers };
    const answer = await call(line, { key, headers: all, ...(json !== undefined && { json }) });
    return `${answer.status} ${answer.text}`;
  };
  for (const route of routes) {
    const others = askingFor(route, nobody);
    for (const [nth, asking] of askingFor(route, customer).entries()) {
      const answer = neutral(await asked(asking), customer);
      const expected = neutral(await asked(others[nth] ?? asking), nobody);
      const about = `${route.operationId} ${asking.line} ${JSON.stringify(asking.json, replaceBigint) ?? ''}`;
      if (answer !== expected) leaks.push(`${about}\n  ${answer}\n  ${expected}`);
      if (answer.includes(customer.mark)) leaks.push(`${about} has the mark`);
    }
  }
  return leaks;
}

/** Without what a response repeats of its request, and without what differs each time. */
function neutral(text: string, customer: Customer): string {
  const { mark, ...given } = customer;
  return Object.values(given)
    .sort((a, b) => b.length - a.length)
    .reduce((rest, value) => rest.replaceAll(value, '…'), text)
    .replaceAll(/"requestId":"[^"]*"/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|"\w*[mM]s":\d+|"cost":\{[^}]*\}/g, '');
}
