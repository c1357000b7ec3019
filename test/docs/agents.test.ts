/** Runs every command of docs/agents.md, in one shell, against a service. */
import { expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { blocksOf } from './blocks.ts';
import { runShell } from './shell.ts';

const closings = closeAfterEach();

it('The steps for agents work one after the other', async () => {
  const { storage, close } = await freshStorage('embedded');
  closings.push(close);
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true' };
  const service = await startService({ storage, ca: 'local authority', env });
  const receiver = await startReceiver();
  closings.push(service.close, receiver.close);
  const { apiUrl, upstream } = service.world;

  const scopes = ['domains:read', 'domains:write'];
  const made = await service.client.call('POST', '/v1/keys', { name: 'agent', scopes });
  const { key } = made.body as { readonly key: string };
  const steps = blocksOf('docs/agents.md', 'sh');
  expect(steps).toHaveLength(5);
  const script = steps.map((step, at) => `echo "# step ${at}"\n${step}\necho\n`).join('');
  const { stdout, stderr, code } = await runShell(`set -e\n${script}`, {
    SIGNPOST_URL: apiUrl,
    SIGNPOST_API_KEY: key,
    UPSTREAM: upstream,
    RECEIVER: receiver.url,
  });
  expect([code, stderr]).toEqual([0, '']);
  const said = (step: number) => stdout.split(`# step ${step}\n`)[1]?.split(/^# step/m)[0] ?? '';
  expect(said(0)).toMatch(/^# Signpost\n[\s\S]*"scopes":\["domains:read","domains:write"\]/);
  expect(said(1)).toContain('"warnings":[]');
  expect(said(2)).toMatch(/"record":\{"type":"CNAME","name":"docs"/);
  expect(said(3)).toContain('"delivered":true');
  expect(said(4)).toMatch(/"hostname":"docs\.example\.com"[\s\S]*"metadata":\{"customer":"42"\}/);
  const types = receiver.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  expect(types).toContain('webhook.test');
  const left = await service.client.call('GET', '/v1/domains');
  expect(left.body).toEqual([]);
}, 120_000);
