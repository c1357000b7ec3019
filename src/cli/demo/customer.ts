/** The demo's customer uses only the public API. */

type Shown = {
  readonly hostname: string;
  readonly status: string;
  readonly record: {
    readonly type: string;
    readonly name: string;
    readonly value: string;
    /** Seconds. */
    readonly ttl: number;
  };
};

type ReportedFinding = {
  readonly code: string;
  readonly summary: string;
  readonly action: string;
};

/** `appeared` and `cleared` belong to `domain.findings_changed`, `issuer` to certificate events. */
export type DemoEvent = {
  readonly id: number;
  readonly type: string;
  /** RFC 3339. */
  readonly at: string;
  readonly data: {
    readonly appeared?: readonly ReportedFinding[];
    readonly cleared?: readonly ReportedFinding[];
    readonly issuer?: string;
  };
};

/** Calls reject if the API returns an error. */
export type Customer = {
  /** A paid project with a deploy. Call it once, before `timeline`: the slug is fixed. */
  addDomain(hostname: string, upstream: string): Promise<Shown>;
  /** Oldest first. */
  timeline(): Promise<readonly DemoEvent[]>;
};

/** `apiUrl` has no trailing slash. */
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
    return answer as T; // the API documents this shape
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
      return (await call<DemoEvent[]>('GET', `${domainPath}/timeline`)).reverse();
    },
  };
}

export type Awaited = { readonly finding: string } | { readonly event: 'domain.live' };

/** What the customer publishes and what the service must report before the next act starts. */
export type Act = {
  readonly says: string;
  /** The whole zone. `{target}` stands for the target that the customer was shown. */
  readonly publishes: readonly string[];
  readonly until: Awaited;
};

/** One mistake after another, then the fix for the last one. */
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
