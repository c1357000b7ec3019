/** The demo's customer as an HTTP client: it knows the service by its API alone. */

export type Shown = {
  readonly hostname: string;
  readonly status: string;
  readonly record: {
    readonly type: string;
    readonly name: string;
    readonly value: string;
    readonly ttl: number;
  };
};

export type FindingShown = {
  readonly code: string;
  readonly summary: string;
  readonly action: string;
};

export type EventShown = {
  readonly id: number;
  readonly type: string;
  readonly at: string;
  readonly data: {
    readonly appeared?: readonly FindingShown[];
    readonly cleared?: readonly FindingShown[];
    readonly issuer?: string;
  };
};

export type Customer = {
  /** Makes a project on a paid plan with a successful deploy, and adds the domain. */
  addDomain(hostname: string, upstream: string): Promise<Shown>;
  /** The timeline from the first event on. */
  timeline(): Promise<readonly EventShown[]>;
};

export function createCustomer(apiUrl: string, key: string): Customer {
  let domainPath = '';

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer as T; // our own API's documented shapes
  }

  return {
    async addDomain(hostname, upstream) {
      const project = await call<{ id: string }>('POST', '/v1/projects', {
        name: 'The shop’s documentation',
        slug: 'shop-docs',
        plan: 'pro',
      });
      const base = `/v1/projects/${project.id}`;
      await call('POST', `${base}/deploys`, { status: 'succeeded', upstream });
      domainPath = `${base}/domains/${hostname}`;
      return call<Shown>('POST', `${base}/domains`, { hostname });
    },
    async timeline() {
      return (await call<EventShown[]>('GET', `${domainPath}/timeline`)).reverse();
    },
  };
}
