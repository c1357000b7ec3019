import { describe, expect, it } from 'vitest';
import { noon } from '../support/builders.ts';
import { errorBody } from './support.ts';
import { type Shown, url, webhookApi } from './webhook-fixture.ts';

const fixture = webhookApi();
const { call, operate, make, reportOf } = fixture;

describe('A webhook replay', () => {
  const deliveries = async (id: string) =>
    (await call(`GET ${fixture.base}/${id}/deliveries`)).body as Record<string, unknown>[];

  it('resends the events after a number with their original ids, each once', async () => {
    const { id } = await make();
    await reportOf('a.shop.test', 'b.shop.test', 'c.shop.test');
    const before = await deliveries(id);
    expect(before.map(({ event }) => event)).toEqual([3n, 2n, 1n]);
    const { status, body } = await call(`POST ${fixture.base}/${id}/replay`, { after: 1 });
    expect([status, body]).toEqual([202, { queued: 2n, lastEvent: 3n }]);
    // They still wait.
    expect(await deliveries(id)).toEqual(before);
    await fixture.prisma.webhookDelivery.updateMany({
      where: { webhookId: id },
      data: { status: 'delivered', attempts: 1, nextAttemptAt: null },
    });
    for (const _ of ['once', 'twice']) {
      const again = await call(`POST ${fixture.base}/${id}/replay`, { after: 1 });
      expect(again.body).toEqual({ queued: 2n, lastEvent: 3n });
    }
    const after = await deliveries(id);
    const is = (status: string) => after.filter((one) => one['status'] === status);
    expect(is('delivered').map(({ event }) => event)).toEqual([3n, 2n, 1n]);
    expect(is('pending').map(({ event, messageId }) => [event, messageId])).toEqual(
      before.slice(0, 2).map(({ event, messageId }) => [event, messageId]),
    );
  });

  it('sends the types of the webhook, or the one in the request', async () => {
    const { id } = await make({ url, events: ['domain.live'] });
    await reportOf('a.shop.test', 'b.shop.test');
    const replay = async (json: object) =>
      (await call(`POST ${fixture.base}/${id}/replay`, json)).body;
    expect(await replay({ after: 0 })).toEqual({ queued: 0n, lastEvent: null });
    expect(await replay({ event: 2 })).toEqual({ queued: 1n, lastEvent: 2n });
    expect(await replay({ event: 3 })).toEqual(errorBody(404, 'event_not_found'));
    expect(await replay({ after: -1 })).toEqual({ queued: 0n, lastEvent: null });
    expect(await replay({ after: 2n ** 63n - 1n })).toEqual({ queued: 0n, lastEvent: null });
    for (const json of [{}, { after: 1, event: 1 }]) {
      expect(await replay(json)).toEqual(
        errorBody(400, 'invalid_body', expect.stringContaining('either after or event')),
      );
    }
  });

  it('is limited to a thousand events and says where to continue', async () => {
    await reportOf('a.shop.test');
    const domain = await fixture.prisma.domain.findFirstOrThrow({
      where: { projectId: fixture.projectId },
    });
    const reported = Array.from({ length: 1_200 }, () => ({
      domain_id: domain.id,
      type: 'domain.live',
      data: {},
      at: noon,
    }));
    await fixture.prisma.$executeRaw`SELECT record_events(${JSON.stringify(reported)}::jsonb)`;
    const { id } = await make();
    const first = await call(`POST ${fixture.base}/${id}/replay`, { after: 0 });
    expect(first.body).toEqual({ queued: 1_000n, lastEvent: 1_000n });
    const rest = await call(`POST ${fixture.base}/${id}/replay`, { after: 1_000 });
    expect(rest.body).toEqual({ queued: 201n, lastEvent: 1_201n });
  });
});

describe('An operator webhook', () => {
  it('rejects a replay for an unknown project', async () => {
    const { body } = await operate('POST /v1/webhooks', { url });
    const { id } = body as Shown;
    for (const projectId of ['6f9619ff-8b86-4011-b42d-00cf4fc964ff', 'none']) {
      const { status } = await operate(`POST /v1/webhooks/${id}/replay`, { projectId, after: 0 });
      expect(status).toBe(projectId === 'none' ? 400 : 404);
    }
  });

  it('receives events of every project and is replayed per project', async () => {
    const { body } = await operate('POST /v1/webhooks', { url, events: ['domain.added'] });
    const { id, projectId: owner } = body as Shown;
    expect(owner).toBeNull();
    await reportOf('a.shop.test');
    const first = fixture.projectId;
    await fixture.nextProject();
    await reportOf('a.shop.test');
    const { body: reported } = await operate(`GET /v1/webhooks/${id}/deliveries`);
    const projects = (reported as Shown[]).map((one) => one['projectId']);
    expect(projects).toEqual([fixture.projectId, first]);
    const replay = await operate(`POST /v1/webhooks/${id}/replay`, { projectId: first, event: 1 });
    expect(replay.body).toEqual({ queued: 1n, lastEvent: 1n });
    const without = await operate(`POST /v1/webhooks/${id}/replay`, { event: 1 });
    expect(without.status).toBe(400);
    expect((await operate('GET /v1/webhooks')).body).toMatchObject([{ id }]);
    expect((await operate(`DELETE /v1/webhooks/${id}`)).status).toBe(204);
  });

  it('is hidden from other keys', async () => {
    expect((await call('GET /v1/webhooks')).body).toEqual(errorBody(403, 'insufficient_scope'));
    expect((await call(`GET ${fixture.base}`)).body).toEqual([]);
  });
});
