/** A customer's HTTP client, which uses the API alone. */
import type { World } from './world.ts';

export type Shown = {
  readonly hostname: string;
  readonly status: string;
  readonly record: { type: string; name: string; value: string; ttl: number };
  readonly findings: readonly {
    code: string;
    summary: string;
    expected: string;
    found: string;
    action: string;
    actor: string;
  }[];
  readonly checks: {
    attempts: number;
    lastCheckedAt: string | null;
    nextCheckAt: string | null;
    windowEndsAt: string | null;
  };
  readonly certificate: {
    status: string;
    issuer: string | null;
    expiresAt: string | null;
    nextAttemptAt: string | null;
    problem: unknown;
    renewal: {
      plannedAt: string;
      window: { start: string; end: string } | null;
      explanationUrl: string | null;
    } | null;
    browser: {
      state: string;
      summary: string;
      shown: { addresses: { address: string; outcome: string; issuer: string | null }[] } | null;
    };
  };
  readonly escalation: { cause: string; summary: string; nextAction: string } | null;
};

type EventShown = {
  readonly id: number;
  readonly type: string;
  readonly data: { appeared?: { code: string }[]; cleared?: { code: string }[] };
};

export type Client = {
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown; headers: Headers }>;
  /** Creates a publishable project and adds the world's domain to it. */
  addDomain(): Promise<Shown>;
  /** Adds the world's domain to the same project once more. */
  addAgain(): Promise<Shown>;
  domain(): Promise<Shown>;
  /** The types of the domain's events, oldest first; findings as `+code` and `-code`. */
  story(): Promise<string[]>;
  readonly domainPath: string;
};

export function createClient({ apiUrl, apiKey, hostname, upstream }: World): Client {
  let domainPath = '';

  async function call(method: string, path: string, body?: unknown) {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? null : (JSON.parse(text) as unknown),
      headers: response.headers,
    };
  }

  async function expectOk<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await call(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as T; // documented shapes of the API
  }

  return {
    call,
    get domainPath() {
      return domainPath;
    },
    async addDomain() {
      const slug = `docs-${Math.random().toString(36).slice(2, 10)}`;
      const project = { name: 'Docs', slug, plan: 'pro' };
      const { id } = await expectOk<{ id: string }>('POST', '/v1/projects', project);
      await expectOk('POST', `/v1/projects/${id}/deploys`, { status: 'succeeded', upstream });
      domainPath = `/v1/projects/${id}/domains/${hostname}`;
      return expectOk<Shown>('POST', `/v1/projects/${id}/domains`, { hostname });
    },
    addAgain: () =>
      expectOk<Shown>('POST', domainPath.slice(0, domainPath.lastIndexOf('/')), { hostname }),
    domain: () => expectOk<Shown>('GET', domainPath),
    async story() {
      const events = await expectOk<EventShown[]>('GET', `${domainPath}/timeline`);
      return events.reverse().flatMap(inWords);
    },
  };
}

function inWords({ type, data }: EventShown): string[] {
  if (type !== 'domain.findings_changed') return [type];
  return [
    ...(data.cleared ?? []).map(({ code }) => `-${code}`),
    ...(data.appeared ?? []).map(({ code }) => `+${code}`),
  ];
}
