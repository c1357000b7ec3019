import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, everyPage } from '../../src/cli/client.ts';
import { createClient } from '../../src/dashboard/client.ts';
import { type Service, startApi } from '../support/service.ts';

describe('a list of several pages', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startApi();
    for (const slug of ['one', 'two', 'three']) {
      await service.client.call('POST', '/v1/projects', { name: slug, slug, plan: 'pro' });
    }
  });
  afterAll(() => service?.close());

  const slugs = (body: unknown) => (body as { slug: string }[]).map(({ slug }) => slug);

  it('is whole for the command line', async () => {
    const { apiUrl, apiKey } = service.world;
    const connection = connect(apiUrl, { SIGNPOST_API_KEY: apiKey });
    if (!connection.ok) throw new Error('no connection');
    const answer = await everyPage(connection.call, '/v1/projects?limit=2');
    if (!answer.ok) throw new Error(answer.message);
    expect(slugs(answer.body)).toEqual(['one', 'two', 'three']);
    expect(slugs(JSON.parse(answer.text))).toEqual(['one', 'two', 'three']);
    const refused = await everyPage(connection.call, '/v1/projects?limit=0');
    expect(refused).toMatchObject({ ok: false, code: 'invalid_query' });
  });

  it('is whole for the dashboard', async () => {
    const { api } = service.signpost;
    if (api === null) throw new Error('there is no API');
    const client = createClient(
      api,
      { headers: {}, remoteAddress: '127.0.0.1' },
      { apiKey: service.world.apiKey },
    );
    const answer = await client.all('/v1/projects?limit=1');
    if (!answer.ok) throw new Error(answer.error.message);
    expect(slugs(answer.body)).toEqual(['one', 'two', 'three']);
    expect(await client.all('/v1/projects?limit=0')).toMatchObject({ ok: false, status: 400 });
  });
});
