/** Accounts, and how they add domains over HTTP: as many as they can, or one by one at a steady pace. */
import { zoneOf } from '../checks/settings.ts';
import { sleep } from '../support/processes.ts';
import { addProject, headers, post } from '../support/service.ts';
import { LARGE_ZONES, PER_SECOND, SMALL_ZONES } from './settings.ts';

/** A project of an account. */
export type Customer = {
  readonly url: string;
  readonly accountId: string;
  readonly projectId: string;
};

const AT_ONCE = 8;
let names = 0;

/** A new account whose limits are raised beyond what it adds here, with a project. */
export async function addCustomer(url: string, name: string): Promise<Customer> {
  const limits = { domains: null, additionsPerHour: null, requestsPerMinute: null };
  const { id } = await post(`${url}/v1/accounts`, { name, limits });
  return addProjectOf({ url, accountId: String(id) }, name);
}

/** Another project of the same account. */
export async function addProjectOf(
  { url, accountId }: Pick<Customer, 'url' | 'accountId'>,
  name: string,
): Promise<Customer> {
  return { url, accountId, projectId: await addProject(url, name, { accountId }) };
}

/** Names in the zones of the large account. */
export function nameOfLarge(): string {
  names += 1;
  return `docs-${names}.${zoneOf(names % LARGE_ZONES)}`;
}

/** Names in zones that no other account has names in. */
export function nameOfSmall(): string {
  names += 1;
  return `www-${names}.${zoneOf(LARGE_ZONES + (names % SMALL_ZONES))}`;
}

/** Eight at a time. */
export async function addMany(customer: Customer, count: number): Promise<void> {
  let added = 0;
  const lane = async () => {
    while (added < count) {
      added += 1;
      await add(customer, nameOfLarge());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

/** By host name, when the answer to its `POST` had arrived, in ms since 1970. */
export type Acknowledged = ReadonlyMap<string, number>;

/**
 * Adds domains at a steady pace, whether or not those before have been answered, until `isOver`. Rejects where one is
 * refused.
 */
export async function addSteadily(
  customer: Customer,
  nextName: () => string,
  isOver: () => boolean,
): Promise<Acknowledged> {
  const acknowledged = new Map<string, number>();
  const asked: Promise<void>[] = [];
  const start = performance.now();
  for (let nth = 0; !isOver(); nth += 1) {
    await sleep(Math.max(0, start + (nth * 1_000) / PER_SECOND - performance.now()));
    const hostname = nextName();
    const one = add(customer, hostname).then(() => void acknowledged.set(hostname, Date.now()));
    one.catch(() => undefined); // what awaits all of them rejects
    asked.push(one);
  }
  await Promise.all(asked);
  return acknowledged;
}

/** A service that is away for a moment is asked again, as it says itself. */
async function add({ url, projectId }: Customer, hostname: string): Promise<void> {
  const init = { method: 'POST', headers, body: JSON.stringify({ hostname }) };
  for (;;) {
    const response = await fetch(`${url}/v1/projects/${projectId}/domains`, init);
    const said = await response.text();
    if (response.ok) return;
    if (response.status !== 503) throw new Error(`${hostname}: ${response.status} ${said}`);
    await sleep(1_000);
  }
}
