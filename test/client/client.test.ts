/** The typed client against a live service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createSignpost,
  pages,
  type Signpost,
  SignpostRefusal,
  unwrap,
} from '../../packages/client/src/index.ts';
import { type RunningService, startApi } from '../support/service.ts';

let service: RunningService;
let signpost: Signpost;
let projectId: string;

beforeAll(async () => {
  service = await startApi();
  const { apiUrl, apiKey, upstream } = service.world;
  signpost = createSignpost({ baseUrl: `${apiUrl}/v1`, apiKey });
  const body = { name: 'Shop', slug: 'shop', plan: 'pro', metadata: { customer: '42' } } as const;
  projectId = (await unwrap(signpost.POST('/projects', { body }))).id;
  const deploy = { status: 'succeeded', upstream } as const;
  await unwrap(
    signpost.POST('/projects/{projectId}/deploys', {
      params: { path: { projectId } },
      body: deploy,
    }),
  );
});
afterAll(() => service.close());

async function refusalOf(act: Promise<unknown>): Promise<SignpostRefusal> {
  const refusal = await act.catch((fault: unknown) => fault);
  if (!(refusal instanceof SignpostRefusal)) throw new Error('no refusal', { cause: refusal });
  return refusal;
}

const add = (hostname: string) =>
  unwrap(
    signpost.POST('/projects/{projectId}/domains', {
      params: { path: { projectId } },
      body: { hostname, metadata: { site: 'a' } },
    }),
  );

describe('The client', () => {
  it('returns typed bodies', async () => {
    const domain = await add('docs.shop.test');
    // Fields and their types are checked by the compiler.
    const {
      id,
      status,
      record,
      metadata,
    }: {
      id: string;
      status: 'pending' | string;
      record: { value: string };
      metadata: Record<string, string>;
    } = domain;
    expect({ status, metadata }).toEqual({ status: 'pending', metadata: { site: 'a' } });
    expect(record.value).toContain('.edge.signpost.test');
    const path = { domainId: id };
    expect(await unwrap(signpost.GET('/domains/{domainId}', { params: { path } }))).toEqual(domain);
  });

  it('pages through a list, with filters', async () => {
    for (const name of ['a', 'b', 'c']) await add(`${name}.pages.test`);
    const found: string[] = [];
    const all = pages((cursor) =>
      signpost.GET('/domains', {
        params: {
          query: {
            limit: 2,
            search: 'pages.test',
            metadata: { site: 'a' },
            ...(cursor && { cursor }),
          },
        },
      }),
    );
    for await (const { hostname } of all) found.push(hostname);
    expect(found).toEqual(['a.pages.test', 'b.pages.test', 'c.pages.test']);
  });

  it('throws errors that are discriminated by their code', async () => {
    const exists = await refusalOf(add('docs.shop.test'));
    expect(exists.is('domain_exists') && exists.error.status).toBe(409);
    expect(exists.message).toContain('domain_exists');
    const wrong = await refusalOf(
      unwrap(signpost.POST('/projects', { body: { name: '', slug: 'No slug' } })),
    );
    if (!wrong.is('invalid_body')) throw wrong;
    expect(wrong.error.errors?.map(({ field }) => field)).toEqual(['name', 'slug']);
    if (exists.is('domain_exists')) {
      // @ts-expect-error: the compiler knows the code.
      expect(exists.error.code === 'slug_taken').toBe(false);
    }
    const key = createSignpost({ baseUrl: `${service.world.apiUrl}/v1`, apiKey: 'nobody has it' });
    expect((await refusalOf(unwrap(key.GET('/projects')))).is('unauthorized')).toBe(true);
  });

  it('acts for an account', async () => {
    const account = await unwrap(signpost.POST('/accounts', { body: { name: 'Example Inc.' } }));
    const baseUrl = `${service.world.apiUrl}/v1`;
    const { apiKey } = service.world;
    const acting = createSignpost({ baseUrl, apiKey, accountId: account.id });
    const body = { name: 'Docs', slug: 'docs', plan: 'pro' as const };
    const project = await unwrap(acting.POST('/projects', { body }));
    expect(project.accountId).toBe(account.id);
    expect(await unwrap(acting.GET('/projects'))).toMatchObject([{ id: project.id }]);
  });

  it('says if the address is no Signpost service', async () => {
    const elsewhere = createSignpost({ baseUrl: `${service.world.apiUrl}/docs/v1`, apiKey: 'k' });
    const fetched = createSignpost({
      baseUrl: 'http://localhost/v1',
      apiKey: 'k',
      fetch: async () => new Response('<html>', { status: 502 }),
    });
    await expect(unwrap(fetched.GET('/projects'))).rejects.toThrow('not a Signpost service');
    await expect(unwrap(elsewhere.GET('/projects'))).rejects.toThrow(SignpostRefusal);
  });
});
