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

/** What the demo's customer does: one mistake after the other, each followed by what repairs it. */

/** What the service has to say before the customer acts again. */
export type Awaited = { readonly finding: string } | { readonly event: 'domain.live' };

export type Act = {
  /** Said aloud before the records are published. */
  readonly says: string;
  /** The zone as the customer now publishes it; `{target}` stands for the host name they were shown. */
  readonly publishes: readonly string[];
  readonly until: Awaited;
};

export const acts: readonly Act[] = [
  {
    says: 'The customer has not created the record yet.',
    publishes: [],
    until: { finding: 'record_missing' },
  },
  {
    says: 'An old A record is still there.',
    publishes: ['docs A 192.0.2.7'],
    until: { finding: 'conflicting_a' },
  },
  {
    says: 'The A record is gone, but the CNAME points to the wrong host.',
    publishes: ['docs CNAME old-host.example.'],
    until: { finding: 'cname_mismatch' },
  },
  {
    says: 'The CNAME is right; a CAA record of the domain allows another authority only.',
    publishes: ['docs CNAME {target}.', '@ CAA 0 issue "other-ca.example"'],
    until: { finding: 'caa_blocks' },
  },
  {
    says: 'The customer allows our authority, too. Nobody presses anything.',
    publishes: [
      'docs CNAME {target}.',
      '@ CAA 0 issue "other-ca.example"',
      '@ CAA 0 issue "letsencrypt.org"',
    ],
    until: { event: 'domain.live' },
  },
];
