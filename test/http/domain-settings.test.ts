import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { domainSettingsRoutes } from '../../src/http/routes/domain-settings.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const dropped: string[] = [];
let api: TestApi;
let key: string;
let path: string;

beforeAll(async () => {
  api = await startTestApi((service) => [
    ...publishingRoutes(service, (hostname) => void dropped.push(hostname)),
    ...domainSettingsRoutes(service),
  ]);
  key = await api.keyWith('domains:read', 'domains:write');
});
afterAll(() => api.close());

const call = (line: string, json?: unknown) =>
  callApi(api.api, line, { key, ...(json !== undefined && { json }) });

let count = 0;
beforeEach(async () => {
  count += 1;
  dropped.length = 0;
  const project = { name: 'Docs', slug: `settings-${count}`, plan: 'pro' };
  const { id } = (await call('POST /v1/projects', project)).body as { id: string };
  path = `/v1/projects/${id}`;
  await call(`POST ${path}/deploys`, { status: 'succeeded', upstream: 'http://127.0.0.1:9' });
  for (const name of ['www', 'old', 'older', 'bücher']) {
    await call(`POST ${path}/domains`, { hostname: `${name}.example.com` });
  }
});

const redirect = (from: string, to: string, status = 301) => ({
  from: `${from}.example.com`,
  to: `${to}.example.com`,
  status,
});
const settings = (primary: string | null, ...redirects: readonly object[]) => ({
  domains: { primary, redirects },
});
const put = (json: unknown) => call(`PUT ${path}/domain-settings`, json);
const shown = async () => (await call(`GET ${path}/domain-settings`)).text;

const www = 'www.example.com';
const usual = settings(www, redirect('old', 'www'), redirect('older', 'www', 308));

describe('Domain settings', () => {
  it('are empty at first', async () => {
    expect(await shown()).toBe('{"domains":{"primary":null,"redirects":[]}}');
  });

  it('are stored exactly as given, in the shape of docs/interface.md', async () => {
    const answer = await put(usual);
    expect(answer).toMatchObject({ status: 200, text: JSON.stringify(usual) });
    expect(await shown()).toBe(JSON.stringify(usual));
    expect(await put(usual)).toMatchObject({ status: 200, text: answer.text });
  });

  it('accept names in any spelling', async () => {
    const answer = await put(
      settings(' HTTPS://WWW.Example.com./path', {
        from: 'Bücher.example.com',
        to: 'www.example.COM.',
        status: 302,
      }),
    );
    expect(answer.text).toBe(JSON.stringify(settings(www, redirect('xn--bcher-kva', 'www', 302))));
    expect(await shown()).toBe(answer.text);
  });

  it.each<[string, object, string]>([
    [
      'settings_unknown_host',
      settings('nobody.example.com'),
      'domains.primary: “nobody.example.com”',
    ],
    [
      'settings_unknown_host',
      settings('not a \u202e name'),
      'domains.primary: “not a \\u{202e} name”',
    ],
    [
      'settings_unknown_host',
      settings(null, redirect('old', 'nobody')),
      'domains.redirects[0]: “nobody',
    ],
    [
      'settings_unknown_host',
      settings(null, redirect('nobody', 'old')),
      'domains.redirects[0]: “nobody',
    ],
    [
      'redirect_to_itself',
      settings(null, redirect('OLD', 'old')),
      'domains.redirects[0]: old.example.com',
    ],
    ['redirect_twice', settings(null, redirect('old', 'www'), redirect('Old', 'older')), '[1]'],
    [
      'primary_redirects',
      settings(www, redirect('www', 'old')),
      'domains.redirects[0]: www.example.com',
    ],
    ['redirect_loop', settings(null, redirect('old', 'older'), redirect('older', 'old')), ' → '],
    ['redirect_chain', settings(www, redirect('old', 'older'), redirect('older', 'www')), ' → '],
    [
      'redirect_status',
      settings(www, redirect('old', 'www', 303)),
      'domains.redirects[0].status: 303',
    ],
    [
      'too_many_redirects',
      settings(www, ...Array(101).fill(redirect('old', 'www'))),
      'domains.redirects: 101',
    ],
    ...[42, 301.5, '301', null, true].map((status): [string, object, string] => [
      'invalid_body',
      settings(www, { ...redirect('old', 'www'), status }),
      'domains.redirects[0].status: must be an unquoted number, one of 301, 302, 307, 308',
    ]),
    ['invalid_body', { domains: { redirects: [] } }, 'domains.primary: is required'],
    ['invalid_body', { domains: { primary: null } }, 'domains.redirects: is required'],
    ['invalid_body', { ...usual, color: 'red' }, 'color: is not a known field'],
  ])('reject an invalid %s without changing anything (%#)', async (code, json, words) => {
    await put(usual);
    const answer = await put(json);
    const body = errorBody(400, code, expect.stringContaining(words));
    expect(answer).toMatchObject({ status: 400, body });
    expect(await shown()).toBe(JSON.stringify(usual));
  });

  it.each(['GET', 'PUT'])('answer 404 to %s for an unknown project', async (method) => {
    const line = `${method} /v1/projects/00000000-0000-4000-8000-00000000ffff/domain-settings`;
    const answer = await call(line, method === 'PUT' ? usual : undefined);
    expect(answer).toMatchObject({ status: 404, body: errorBody(404, 'project_not_found') });
  });

  describe('Domain settings with If-Match', () => {
    const line = () => `PUT ${path}/domain-settings`;
    const tagNow = async () =>
      (await call(`GET ${path}/domain-settings`)).headers['etag'] ?? 'no tag';
    const putIf = (headers: Record<string, string>, json: unknown) =>
      callApi(api.api, line(), { key, json, headers });
    const failed = { status: 412, body: errorBody(412, 'precondition_failed') };

    it('replace that version only', async () => {
      const empty = await tagNow();
      const answer = await putIf({ 'if-match': empty }, usual);
      expect(answer).toMatchObject({ status: 200, text: JSON.stringify(usual) });
      expect(answer.headers).not.toHaveProperty('etag');
      expect(await putIf({ 'if-match': empty }, settings(null))).toMatchObject(failed);
      expect(await putIf({ 'if-match': `W/${await tagNow()}` }, settings(null))).toMatchObject(
        failed,
      );
      expect(await shown()).toBe(JSON.stringify(usual));
      const either = `"x", ${await tagNow()}`;
      expect(await putIf({ 'if-match': either }, settings(www))).toMatchObject({ status: 200 });
      expect(await putIf({ 'if-match': '*' }, settings(null))).toMatchObject({ status: 200 });
    });

    it('get a new version when a domain is removed along with its redirect', async () => {
      await put(usual);
      const before = await tagNow();
      await call(`DELETE ${path}/domains/old.example.com`);
      expect(await putIf({ 'if-match': before }, usual)).toMatchObject(failed);
    });

    it('check the version before the content', async () => {
      const bad = settings('nobody.example.com');
      expect(await putIf({ 'if-match': '"x"' }, bad)).toMatchObject(failed);
      expect(await putIf({ 'if-match': await tagNow() }, bad)).toMatchObject({ status: 400 });
    });

    it('accept only one of several concurrent changes', async () => {
      const headers = { 'if-match': await tagNow() };
      const all = [www, 'old.example.com', 'older.example.com'].map((one) => settings(one));
      const answers = await Promise.all(all.map((json) => putIf(headers, json)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
      const stored = answers.findIndex(({ status }) => status === 200);
      expect(await shown()).toBe(JSON.stringify(all[stored]));
    });

    it('support If-None-Match as the inverse', async () => {
      const tag = await tagNow();
      expect(await putIf({ 'if-none-match': '*' }, usual)).toMatchObject(failed);
      expect(await putIf({ 'if-none-match': tag }, usual)).toMatchObject(failed);
      expect(await putIf({ 'if-none-match': '"x"' }, usual)).toMatchObject({ status: 200 });
    });

    it('answer 404 for an unknown project', async () => {
      const nowhere = 'PUT /v1/projects/00000000-0000-4000-8000-00000000ffff/domain-settings';
      const headers = { 'if-match': '"x"' };
      const answer = await callApi(api.api, nowhere, { key, json: usual, headers });
      expect(answer).toMatchObject({ status: 404, body: errorBody(404, 'project_not_found') });
    });
  });

  it('require domains:write for a change', async () => {
    const reader = await api.keyWith('domains:read');
    const line = `${path}/domain-settings`;
    expect((await callApi(api.api, `GET ${line}`, { key: reader })).status).toBe(200);
    expect((await callApi(api.api, `PUT ${line}`, { key: reader, json: usual })).status).toBe(403);
  });
});

describe('Removing a domain', () => {
  const remove = (name: string, query = '') =>
    call(`DELETE ${path}/domains/${name}.example.com${query}`);
  const removedEvent = async (name: string) => {
    const { body } = await call(`GET ${path}/domains/${name}.example.com/timeline`);
    return (body as readonly { type: string; data: unknown }[])[0];
  };

  it('is rejected with the settings that it would orphan, and changes nothing', async () => {
    await put(usual);
    const answer = await remove('www');
    expect(answer).toMatchObject({ status: 409, body: errorBody(409, 'domain_in_use') });
    const { message } = answer.body as { message: string };
    expect(message).toContain('www.example.com is the primary domain');
    expect(message).toContain(
      'old.example.com, older.example.com would redirect to a missing domain',
    );
    expect(message).toContain('?orphans=drop');
    expect(await shown()).toBe(JSON.stringify(usual));
    expect((await call(`GET ${path}/domains/${www}`)).status).toBe(200);
    expect(dropped).toEqual([]);
  });

  it('with orphans=drop removes those settings and lists them in the event', async () => {
    await put(usual);
    expect(await remove('www', '?orphans=drop')).toMatchObject({ status: 204 });
    expect(await shown()).toBe(JSON.stringify(settings(null)));
    expect(dropped).toEqual([www]);
    expect(await removedEvent('www')).toMatchObject({
      type: 'domain.removed',
      data: {
        primary: true,
        redirects: [
          { from: 'old.example.com', to: www, status: 301n },
          { from: 'older.example.com', to: www, status: 308n },
        ],
      },
    });
    expect(await remove('www', '?orphans=drop')).toMatchObject({ status: 204 });
    expect(await remove('www')).toMatchObject({ status: 204 });
  });

  it('that only redirects removes its redirect, and the event says so', async () => {
    await put(usual);
    expect(await remove('old')).toMatchObject({ status: 204 });
    expect(await shown()).toBe(JSON.stringify(settings(www, redirect('older', 'www', 308))));
    expect(await removedEvent('old')).toMatchObject({
      data: { primary: false, redirects: [{ ...redirect('old', 'www'), status: 301n }] },
    });
  });

  it('that no setting mentions reports that in the event', async () => {
    expect(await remove('old')).toMatchObject({ status: 204 });
    expect(await removedEvent('old')).toMatchObject({ data: { primary: false, redirects: [] } });
  });

  it.each(['keep', '', 'DROP'])('rejects orphans=“%s”', async (word) => {
    await put(usual);
    const message = 'orphans: must be drop';
    expect(await remove('www', `?orphans=${word}`)).toMatchObject({
      status: 400,
      body: errorBody(400, 'invalid_query', message),
    });
    expect(await shown()).toBe(JSON.stringify(usual));
  });
});
