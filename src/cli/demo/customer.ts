/** The demo's customer as an HTTP client: it knows the service by its API alone. */

/** A domain as far as the demo shows it. */
export type Shown = {
  readonly hostname: string;
  readonly status: string;
  readonly record: {
    readonly type: string;
    readonly name: string;
    readonly value: string;
    /** In seconds. */
    readonly ttl: number;
  };
};

/** A finding as far as the demo shows it. */
export type FindingShown = {
  readonly code: string;
  readonly summary: string;
  readonly action: string;
};

/**
 * An event of the timeline as far as the demo shows it. `appeared` and `cleared` are of `domain.findings_changed`,
 * `issuer` of those about certificates.
 */
export type EventShown = {
  readonly id: number;
  readonly type: string;
  /** RFC 3339. */
  readonly at: string;
  readonly data: {
    readonly appeared?: readonly FindingShown[];
    readonly cleared?: readonly FindingShown[];
    readonly issuer?: string;
  };
};

/**
 * A customer with one project and one domain. Every call rejects where the API refuses, with its answer in the
 * message.
 */
export type Customer = {
  /**
   * Makes a project on a paid plan with a successful deploy at `upstream`, and adds the domain. Call it once, before
   * `timeline`: a second project would need another slug.
   */
  addDomain(hostname: string, upstream: string): Promise<Shown>;
  /** All events of the domain that the API's timeline has, the oldest first. */
  timeline(): Promise<readonly EventShown[]>;
};

/** A customer at this address of the API, without a trailing slash. Sends nothing yet. */
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

/** One step of the demo: what the customer publishes, and what the service has to say about it. */
export type Act = {
  /** Said aloud before the records are published. */
  readonly says: string;
  /** The zone as the customer now publishes it; `{target}` stands for the host name they were shown. */
  readonly publishes: readonly string[];
  /** Ends the act. */
  readonly until: Awaited;
};

/** The acts in the order in which they are played: one mistake after the other, and what repairs the last of them. */
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
    says: 'The CNAME is right, but a CAA record allows only another CA.',
    publishes: ['docs CNAME {target}.', '@ CAA 0 issue "other-ca.example"'],
    until: { finding: 'caa_blocks' },
  },
  {
    says: 'The customer allows our CA too. The rest is automatic.',
    publishes: [
      'docs CNAME {target}.',
      '@ CAA 0 issue "other-ca.example"',
      '@ CAA 0 issue "letsencrypt.org"',
    ],
    until: { event: 'domain.live' },
  },
];
