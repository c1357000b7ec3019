import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../src/core/time.ts';
import { openSecret } from '../../src/webhooks/message.ts';
import { later, noon } from '../support/builders.ts';
import { testVault as vault } from '../support/plain-service.ts';
import { errorBody } from './support.ts';
import { type Shown, url, webhookApi } from './webhook-fixture.ts';

const fixture = webhookApi();
const { call, operate, make, reportOf } = fixture;

describe('A new webhook', () => {
  it('shows its secret once and receives every event type by default', async () => {
    const answer = await call(`POST ${fixture.base}`, { url });
    const { id, secret, ...rest } = answer.body as Shown;
    expect(answer.headers['location']).toBe(`${fixture.base}/${id}`);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const shown = {
      projectId: fixture.projectId,
      url,
      events: [],
      enabled: true,
      disabledAt: null,
      disabledReason: null,
      oldSecretEndsAt: null,
      createdAt: noon.toISOString(),
    };
    expect(rest).toEqual(shown);
    for (const line of [`GET ${fixture.base}/${id}`, `GET ${fixture.base}`]) {
      const { text, body } = await call(line);
      expect(text).not.toContain('whsec');
      expect([body].flat()).toEqual([{ id, ...shown }]);
    }
  });

  it('is stored with a sealed secret that opens in its own row only', async () => {
    const { id, secret } = await make();
    const row = await fixture.prisma.webhook.findUniqueOrThrow({ where: { id } });
    const bytes = Buffer.from(secret?.slice(6) ?? '', 'base64');
    expect(Buffer.from(row.sealedSecret).includes(bytes)).toBe(false);
    expect(Buffer.from(openSecret(vault, id, row.sealedSecret))).toEqual(bytes);
    expect(() => openSecret(vault, fixture.projectId, row.sealedSecret)).toThrow();
  });

  it('is created once per Idempotency-Key, and the replay omits the secret', async () => {
    const headers = { 'idempotency-key': `make-${fixture.projectId}` };
    const first = await call(`POST ${fixture.base}`, { url }, headers);
    const again = await call(`POST ${fixture.base}`, { url }, headers);
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(again.body).toEqual({ ...(first.body as Shown), secret: null });
    const { secret } = first.body as Shown;
    const stored = await fixture.prisma.idempotentAnswer.findMany();
    expect(stored.map(({ body }) => body).join()).not.toContain(secret?.slice(6));
    expect(await fixture.prisma.webhook.count()).toBe(1);
  });

  const misfits: readonly (readonly [body: object, words: string])[] = [
    [{}, 'url: is required'],
    [{ url: 'http://hooks.example.com/' }, 'url: must be an https URL'],
    [{ url: 'https://169.254.169.254/' }, 'url: must not point to a private network'],
    [{ url: 'https://a:b@hooks.example.com/' }, 'url: must not contain credentials'],
    [{ url, events: ['domain.exploded'] }, 'events[0]: must be one of domain.added, '],
    [{ url, events: ['domain.live', 'domain.live'] }, 'events: must not name a type twice'],
    [{ url, secret: 'mine' }, 'secret: is not a known field'],
  ];
  it.each(misfits)('is rejected when created from %j', async (body, words) => {
    const answer = await call(`POST ${fixture.base}`, body);
    expect(answer.body).toEqual(errorBody(400, 'invalid_body', expect.stringContaining(words)));
  });

  it('is limited to ten per project, even under concurrent requests', async () => {
    const asked = Array.from({ length: 12 }, () => call(`POST ${fixture.base}`, { url }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([...Array(10).fill(201), 409, 409]);
    expect((await call(`POST ${fixture.base}`, { url })).body).toEqual(
      errorBody(409, 'too_many_webhooks'),
    );
    await fixture.nextProject();
    await make();
  });
});

describe('A webhook', () => {
  it('of another project or of an operator is not found', async () => {
    const { id } = await make();
    const { body } = await operate('POST /v1/webhooks', { url });
    const foreign = (body as Shown).id;
    await fixture.nextProject();
    for (const other of [id, foreign, fixture.projectId, 'no-id', `${id}%00`]) {
      for (const [method, path, json] of [
        ['GET', ''],
        ['PATCH', '', {}],
        ['POST', '/rotate-secret'],
        ['POST', '/replay', { after: 0 }],
        ['GET', '/deliveries'],
      ] as const) {
        const answer = await call(`${method} ${fixture.base}/${other}${path}`, json);
        expect(answer.body).toEqual(errorBody(404, 'webhook_not_found'));
      }
      expect((await call(`DELETE ${fixture.base}/${other}`)).status).toBe(204);
    }
    expect(await fixture.prisma.webhook.count({ where: { deletedAt: null } })).toBe(2);
    const nobody = `/v1/projects/${randomBytes(16).toString('hex')}/webhooks`;
    expect((await call(`GET ${nobody}`)).body).toEqual(errorBody(404, 'project_not_found'));
  });

  it('is changed only in the given fields', async () => {
    const { id } = await make({ url, events: ['domain.live'] });
    const elsewhere = 'https://other.example.com/';
    const { body } = await call(`PATCH ${fixture.base}/${id}`, { url: elsewhere });
    expect(body).toMatchObject({ url: elsewhere, events: ['domain.live'], enabled: true });
    const all = await call(`PATCH ${fixture.base}/${id}`, { events: [] });
    expect(all.body).toMatchObject({ url: elsewhere, events: [] });
    const refused = await call(`PATCH ${fixture.base}/${id}`, { url: 'https://127.0.0.1/' });
    expect(refused.status).toBe(400);
  });

  it('that is switched off ends its deliveries and gets none until it is on again', async () => {
    const { id } = await make();
    await reportOf('a.shop.test');
    const off = await call(`PATCH ${fixture.base}/${id}`, { enabled: false });
    expect(off.body).toMatchObject({
      enabled: false,
      disabledReason: 'requested',
      disabledAt: noon.toISOString(),
    });
    await reportOf('b.shop.test');
    const { body } = await call(`GET ${fixture.base}/${id}/deliveries`);
    expect(body).toMatchObject([
      { event: 1n, status: 'failed', lastError: 'webhook_disabled', nextAttemptAt: null },
    ]);
    const replay = await call(`POST ${fixture.base}/${id}/replay`, { after: 0 });
    expect(replay.body).toEqual(errorBody(409, 'webhook_disabled'));
    const on = await call(`PATCH ${fixture.base}/${id}`, { enabled: true });
    expect(on.body).toMatchObject({ enabled: true, disabledReason: null, disabledAt: null });
    await reportOf('c.shop.test');
    expect(await fixture.prisma.webhookDelivery.count({ where: { status: 'pending' } })).toBe(1);
  });

  it('that is deleted loses its secret, and its deliveries end', async () => {
    const { id } = await make();
    await reportOf('a.shop.test');
    for (let time = 0; time < 2; time += 1) {
      expect((await call(`DELETE ${fixture.base}/${id}`)).status).toBe(204);
    }
    expect((await call(`GET ${fixture.base}/${id}`)).status).toBe(404);
    expect((await call(`GET ${fixture.base}`)).body).toEqual([]);
    const row = await fixture.prisma.webhook.findUniqueOrThrow({
      where: { id },
      include: { deliveries: true },
    });
    expect(row.sealedSecret).toHaveLength(0);
    expect(row.deliveries).toMatchObject([{ status: 'failed', lastError: 'webhook_deleted' }]);
  });
});

describe('A rotated secret', () => {
  it('replaces the old one, which is kept for a day; there is never a third', async () => {
    const { id, secret: first } = await make();
    const rotate = async () =>
      (await call(`POST ${fixture.base}/${id}/rotate-secret`)).body as Shown;
    const { secret: second, ...shown } = await rotate();
    expect(shown['oldSecretEndsAt']).toBe(later(noon, DAY).toISOString());
    expect(second).not.toBe(first);
    const { secret: third } = await rotate();
    const row = await fixture.prisma.webhook.findUniqueOrThrow({ where: { id } });
    const kept = [row.sealedSecret, row.sealedOldSecret ?? new Uint8Array()].map(
      (sealed) => `whsec_${Buffer.from(openSecret(vault, id, sealed)).toString('base64')}`,
    );
    expect(kept).toEqual([third, second]);
    fixture.clock.now = later(noon, DAY);
    expect((await call(`GET ${fixture.base}/${id}`)).body).toMatchObject({ oldSecretEndsAt: null });
  });

  it('is not stored for a replay', async () => {
    const { id } = await make();
    const headers = { 'idempotency-key': `rotate-${id}` };
    const first = await call(`POST ${fixture.base}/${id}/rotate-secret`, undefined, headers);
    const again = await call(`POST ${fixture.base}/${id}/rotate-secret`, undefined, headers);
    expect(again.body).toEqual({ ...(first.body as Shown), secret: null });
  });
});
