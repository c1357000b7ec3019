/** After a story over the API, no output for operators holds a secret. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openKey, sealOf } from '../../src/certificates/vault/keys.ts';
import { queueNames } from '../../src/core/operations/jobs.ts';
import { logOptions } from '../../src/ops/log.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until } from '../support/world.ts';

const METRICS_TOKEN = 'a-token-for-metrics-alone';
const closings = closeAfterEach();

type Named = Readonly<Record<string, string>>;

/** Each secret in each output that holds it, also in base64, hex or a URL. */
function secretsIn(outputs: Named, secrets: Named): readonly string[] {
  return Object.entries(outputs).flatMap(([output, text]) =>
    Object.entries(secrets)
      .filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
      .map(([name]) => `${name} in ${output}`),
  );
}

/** Without the prefix that names its kind. */
function formsOf(whole: string): readonly string[] {
  const secret = whole.replace(/^(whsec|sigsec|signpost_\w{12})_/, '');
  const bytes = Buffer.from(secret);
  const [encoded] = bytes.toString('base64').split('='); // the last characters depend on the rest
  return [secret, encodeURIComponent(secret), encoded?.slice(0, -2) ?? '', bytes.toString('hex')];
}

async function start() {
  const lines: string[] = [];
  const options = logOptions({ logLevel: 'trace', role: 'all' });
  const log = pino(options, { write: (line: string) => void lines.push(line) });
  const fresh = await freshStorage();
  closings.push(fresh.close);
  const env = { METRICS_TOKEN, WEBHOOK_ALLOW_PRIVATE: 'true' };
  const asked = { storage: fresh.storage, ca: 'local authority', env } as const;
  const service = await startService(asked, log);
  closings.push(service.close);
  return { service, lines };
}

/** The cookie of a session, which holds its token. */
async function signIn({ world }: RunningService): Promise<string> {
  const sent = { method: 'POST', redirect: 'manual' } as const;
  const wrong = new URLSearchParams({ key: `${world.apiKey}-mistyped` });
  await fetch(`${world.apiUrl}/sign-in`, { ...sent, body: wrong });
  const body = new URLSearchParams({ key: world.apiKey });
  const { headers } = await fetch(`${world.apiUrl}/sign-in`, { ...sent, body });
  return headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Whatever an operator reads. Add a row for each other output. */
async function outputsOf({ world, signpost }: RunningService, cookie: string) {
  const read = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(world.apiUrl + path, { headers, redirect: 'manual' });
    expect([path, response.status]).toEqual([path, 200]);
    return response.text();
  };
  const board = (path: string) => read(`/ops/queues${path}`, { cookie });
  const jobs = queueNames.map(async (name) => {
    const queue = await signpost.service.queues.opened(name);
    return JSON.stringify([await queue.getJobs(), await board(`/api/queues?activeQueue=${name}`)]);
  });
  return {
    metrics: await read('/metrics', { authorization: `Bearer ${METRICS_TOKEN}` }),
    operations: await read('/ops', { cookie }),
    audit: await read('/v1/audit', { authorization: `Bearer ${world.apiKey}` }),
    'audit page': await read('/audit', { cookie }),
    'queue board': await board(''),
    jobs: (await Promise.all(jobs)).join(),
  };
}

/** Creates each kind of secret, and uses it. */
async function story(service: RunningService): Promise<{ cookie: string; secrets: Named }> {
  const { client, world, signpost } = service;
  const receiver = await startReceiver();
  closings.push(receiver.close);
  receiver.respond = status(500);
  const post = async (path: string, json?: object) => {
    const answer = await client.call('POST', path, json);
    expect([path, answer]).toEqual([path, expect.toSatisfy((one) => one.status < 300)]);
    return answer.body as Record<'id' | 'key' | 'secret', string>; // documented shapes
  };
  const cookie = await signIn(service);
  const key = await post('/v1/keys', { name: 'scanned', scopes: ['domains:read'] });
  const rotatedKey = await post(`/v1/keys/${key.id}/rotate`, { graceSeconds: 60 });
  const webhook = await post('/v1/webhooks', { url: receiver.url });
  const rotatedWebhook = await post(`/v1/webhooks/${webhook.id}/rotate-secret`);
  const { record } = await client.addDomain();
  const project = client.domainPath.replace(/\/domains\/.*/, '');
  const signing = (await client.call('GET', `${project}/signing-secret`)).body as typeof webhook;
  const rotatedSigning = await post(`${project}/signing-secret/rotate`);
  await world.publish([`docs CNAME ${record.value}.`]);
  await until('live', async () => (await client.domain()).status === 'live');
  await until('a failed delivery', async () => receiver.received.length > 0);
  const { database, vault } = signpost.service;
  const { id, sealedKey } = await database.prisma.certificate.findFirstOrThrow();
  const pem = openKey(vault, sealedKey ?? new Uint8Array(), sealOf(id)).export({
    type: 'pkcs8',
    format: 'der',
  });
  const [token = ''] = cookie.slice(cookie.indexOf('=') + 1).split('.');
  const secrets = {
    API_KEY: world.apiKey,
    KEY_ENCRYPTION_KEY: world.env['KEY_ENCRYPTION_KEY'] ?? '',
    METRICS_TOKEN,
    'key token': key.key,
    'rotated key token': rotatedKey.key,
    'webhook secret': webhook.secret,
    'rotated webhook secret': rotatedWebhook.secret,
    'signing secret': signing.secret,
    'rotated signing secret': rotatedSigning.secret,
    'session token': token,
    'private key': pem.toString('base64').slice(-60),
    'any private key': 'PRIVATE KEY-----',
  };
  return { cookie, secrets };
}

describe('Outputs for operators', () => {
  it('hold no secret after keys, webhooks, sessions and certificates were made and rotated', async () => {
    const { service, lines } = await start();
    const { cookie, secrets } = await story(service);
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret?.length, name).toBeGreaterThan(15);
    }
    const outputs = { ...(await outputsOf(service, cookie)), log: lines.join('') };
    expect(outputs.log).toContain('answered');
    expect(outputs.jobs).toContain('deliver-webhook');
    expect(outputs.audit).toContain('rotateSigningSecret');
    expect(secretsIn(outputs, secrets)).toEqual([]);
    // The scan finds what is there.
    for (const form of formsOf(secrets['webhook secret'] ?? '')) {
      expect(secretsIn({ log: `{"msg":"${form}"}` }, secrets)).toEqual(['webhook secret in log']);
    }
  }, 180_000);
});
