/** An API client that records everything acknowledged in the ledger. */
import { type Answer, ask } from '../system/ask.ts';
import type { System } from '../system/system.ts';
import type { Ledger } from './ledger.ts';

export type ShownDomain = {
  readonly status: string;
  readonly hostname: string;
  readonly record: { readonly value: string };
};

export type Client = {
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  createPet(name: string): Promise<void>;
  /** A project with a deploy and a webhook; null if any of these was not acknowledged. */
  createProject(slug: string, webhookUrl: string): Promise<string | null>;
  /** The target of its record; null if not acknowledged. */
  addDomain(projectId: string, hostname: string): Promise<string | null>;
  removeDomain(hostname: string): Promise<void>;
};

/** Expected client errors, such as a request that comes too late. */
const REFUSALS_FROM = 400;
const FAULTS_FROM = 500;

export function createClient({ apiUrl, apiKey, upstream }: System, ledger: Ledger): Client {
  const headers = { authorization: `Bearer ${apiKey}` };

  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const options = { headers, ...(body !== undefined && { body }) };
    const at = performance.now();
    const answer = await ask(method, `${apiUrl}${path}`, options);
    const { status, ms } = answer;
    if (status !== 0) ledger.answered.push({ at, ms });
    if (status === 0 || status >= FAULTS_FROM) {
      const said = JSON.stringify(answer.body).slice(0, 200);
      ledger.failures.push({ at, who: 'api', what: `${method} ${path}: ${said}`, status });
    }
    return answer;
  }

  return {
    call,
    async createPet(name) {
      const { status, body } = await call('POST', '/v1/pets', { name, categoryId: 1 });
      if (status === 201) ledger.pets.set((body as { id: number }).id, name);
    },
    async createProject(slug, webhookUrl) {
      const made = await call('POST', '/v1/projects', { name: slug, slug, plan: 'pro' });
      if (made.status !== 201) return null;
      const { id } = made.body as { id: string };
      ledger.projects.add(id);
      const base = `/v1/projects/${id}`;
      const deploy = await call('POST', `${base}/deploys`, { status: 'succeeded', upstream });
      const webhook = await call('POST', `${base}/webhooks`, { url: webhookUrl });
      return deploy.status === 201 && webhook.status === 201 ? id : null;
    },
    async addDomain(projectId, hostname) {
      const write = { projectId, hostname, state: 'unknown' as const };
      const known = ledger.domains.get(hostname) ?? write;
      ledger.domains.set(hostname, known);
      const path = `/v1/projects/${projectId}/domains`;
      const posted = await call('POST', path, { hostname });
      // Added by an earlier request whose response was lost.
      const { status, body } =
        posted.status === 409 ? await call('GET', `${path}/${hostname}`) : posted;
      if (status !== 201 && status !== 200) {
        if (status >= REFUSALS_FROM && status < FAULTS_FROM) ledger.domains.delete(hostname);
        return null;
      }
      known.state = 'attached';
      return (body as ShownDomain).record.value;
    },
    async removeDomain(hostname) {
      const write = ledger.domains.get(hostname);
      if (write === undefined) return;
      write.state = 'unknown';
      const path = `/v1/projects/${write.projectId}/domains/${hostname}`;
      const { status } = await call('DELETE', path);
      if (status === 204) write.state = 'removed';
    },
  };
}
