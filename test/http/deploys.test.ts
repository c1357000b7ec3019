import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToPem } from '../../src/certificates/vault/keys.ts';
import { createEdgeLookups } from '../../src/db/domains/edge-lookups.ts';
import { noon } from '../support/builders.ts';
import { certificateFor } from '../webhooks/certificate.ts';
import { publishingRoutes } from './publishing-routes.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

const upstream = 'https://deploy.example.com/';
let api: TestApi;
let key: string;
let projectId: string;
let root: string;
let leaf: string;

beforeAll(async () => {
  const made = await certificateFor('deploy.example.com');
  root = made.root;
  leaf = made.tls.cert;
  api = await startTestApi((service) => publishingRoutes(service));
  key = await api.keyWith('domains:read', 'domains:write');
  const project = { name: 'Docs', slug: 'docs', plan: 'pro' };
  projectId = ((await call('POST /v1/projects', project)).body as { id: string }).id;
});
afterAll(() => api?.close());

const call = (line: string, json?: unknown) => callApi(api.api, line, { key, json });
const deploy = (more: object) =>
  call(`POST /v1/projects/${projectId}/deploys`, { status: 'succeeded', upstream, ...more });
const caOf = async (more: object) =>
  ((await deploy(more)).body as { upstreamCa: string | null }).upstreamCa;

describe('The upstream CA certificates of a deploy', () => {
  it('default to the public CAs', async () => {
    expect(await caOf({})).toBeNull();
  });

  it('are stored as certificates alone, without the text around them', async () => {
    expect(await caOf({ upstreamCa: root })).toBe(root);
    const commented = `# Our root\r\n${root.replaceAll('\n', '\r\n')}\nand the one below it:\n${leaf}`;
    expect(await caOf({ upstreamCa: commented })).toBe(root + leaf);
  });

  const misfits: readonly (readonly [what: string, bundle: () => unknown, words: string])[] = [
    ['empty', () => '', 'must be certificates in PEM'],
    ['not PEM', () => 'MIIB', 'must be certificates in PEM'],
    ['not text', () => 42, 'must be a string'],
    ['a private key', () => privateKeyToPem(generatePrivateKey()), 'contains a private key'],
    [
      'accompanied by a private key',
      () => root + privateKeyToPem(generatePrivateKey()),
      'contains a private key; it must contain only certificates',
    ],
    [
      'a certificate request',
      () => '-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n',
      'has an invalid certificate in block 1',
    ],
    [
      'half a certificate',
      () => root + root.slice(0, 200),
      'has an invalid certificate in block 2',
    ],
    [
      'PEM without a certificate in it',
      () => `${root}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      'has an invalid certificate in block 2',
    ],
    ['too many', () => root.repeat(80), 'must be at most 32768 characters'],
  ];
  it.each(misfits)('are rejected when they are %s', async (_what, bundle, words) => {
    const body = errorBody(400, 'invalid_body', expect.stringContaining(`upstreamCa: ${words}`));
    expect(await deploy({ upstreamCa: bundle() })).toMatchObject({ status: 400, body });
  });

  it('require an https upstream', async () => {
    const answer = await deploy({ upstream: 'http://deploy.example.com', upstreamCa: root });
    const words = 'upstreamCa: requires an https upstream';
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', words));
  });

  it('reach the edge by the id of the active deploy', async () => {
    const domain = { projectId, hostname: 'docs.example.com', target: 'x.edge.test' };
    const at = { addedAt: noon, pendingSince: noon };
    await api.prisma.domain.create({ data: { id: projectId, ...domain, ...at, status: 'live' } });
    const { findRoute, loadUpstreamCa } = createEdgeLookups(api);
    const deployed = async (more: object) => ((await deploy(more)).body as { id: string }).id;
    await deployed({});
    expect(await findRoute(domain.hostname)).toMatchObject({ upstream, upstreamCaId: null });
    const id = await deployed({ upstreamCa: root });
    expect(await findRoute(domain.hostname)).toMatchObject({ upstream, upstreamCaId: id });
    expect(await loadUpstreamCa(id)).toBe(root);
    expect(await loadUpstreamCa(projectId)).toBeNull();
    await deployed({ status: 'failed' });
    expect(await findRoute(domain.hostname)).toMatchObject({ upstream, upstreamCaId: id });
    await deployed({ upstream: 'http://deploy.example.com' });
    expect(await findRoute(domain.hostname)).toMatchObject({ upstreamCaId: null });
  });
});

describe('An upstream that the edge will not connect to', () => {
  it('is refused if its address is in the URL', async () => {
    const answer = await deploy({ upstream: 'http://10.0.0.5:8080/' });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_body', errors: [{ field: 'upstream', code: 'invalid' }] },
    });
  });

  it('is accepted without warnings if its name has public addresses', async () => {
    expect(await deploy({})).toMatchObject({ status: 201, body: { warnings: [] } });
    const { body } = await call(`GET /v1/projects/${projectId}/deploys`);
    expect((body as object[])[0]).not.toHaveProperty('warnings');
  });
});
