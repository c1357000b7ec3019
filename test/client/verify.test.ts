/** The client's verification against messages and requests as Signpost signs them. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { InvalidMessage, verifyRequest, verifyWebhook } from '../../packages/client/src/index.ts';
import { createSign } from '../../src/edge/proxy/upstream.ts';
import { signatureHeaders } from '../../src/webhooks/message.ts';

const at = new Date('2026-11-20T12:00:00Z');
const later = (seconds: number) => new Date(at.getTime() + seconds * 1_000);

describe('verifyWebhook', () => {
  const bytes = randomBytes(32);
  const secret = `whsec_${bytes.toString('base64')}`;
  const body = JSON.stringify({
    type: 'webhook.test',
    timestamp: at.toISOString(),
    data: { webhookId: 'w', projectId: null },
  });
  const signed = (secrets: readonly Uint8Array[]) =>
    signatureHeaders({ messageId: 'msg_1', at, body, secrets });
  const headers = signed([bytes]);

  it('returns a message that one of the secrets signed', () => {
    const message = verifyWebhook(secret, headers, body, at);
    // The compiler knows the fields of each type.
    if (message.type !== 'webhook.test') throw new Error(message.type);
    expect(message.data.webhookId).toBe('w');
    const other = `whsec_${randomBytes(32).toString('base64')}`;
    const rotated = signed([randomBytes(32), bytes]);
    expect(verifyWebhook([other, secret], rotated, Buffer.from(body), later(299))).toEqual(message);
  });

  it.each([
    ['another secret', `whsec_${randomBytes(32).toString('base64')}`, headers, body, at],
    ['another body', secret, headers, body.replace('null', '"p"'), at],
    ['another ID', secret, { ...headers, 'webhook-id': 'msg_2' }, body, at],
    ['no signature', secret, { ...headers, 'webhook-signature': '' }, body, at],
    ['another scheme', secret, { ...headers, 'webhook-signature': 'v2,AAAA' }, body, at],
    ['no time', secret, { ...headers, 'webhook-timestamp': '' }, body, at],
    ['an old time', secret, headers, body, later(301)],
    ['a future time', secret, headers, body, later(-301)],
    ['no headers', secret, {}, body, at],
  ])('refuses %s', (_what, by, given, text, now) => {
    expect(() => verifyWebhook(by, given, text, now)).toThrow(InvalidMessage);
  });
});

describe('verifyRequest', () => {
  const keys = [randomBytes(32), randomBytes(32)];
  const secretOf = (generation: number) => `sigsec_${keys[generation]?.toString('base64')}`;
  const sign = createSign(
    (_, generation) => keys[generation] ?? new Uint8Array(),
    () => at.getTime(),
  );
  const asked = {
    method: 'GET',
    host: 'docs.example.com',
    path: '/a?b=1',
    forwardedFor: '192.0.2.1',
  };
  const signature = (oldEndsAt: number | null) =>
    sign({ projectId: 'p', signing: { generation: 1, oldEndsAt } }, asked);
  const request = (more: object = {}, field = signature(null)) => ({
    method: asked.method,
    url: asked.path,
    headers: {
      host: asked.host,
      'x-forwarded-for': asked.forwardedFor,
      'signpost-signature': field,
      ...more,
    },
  });

  it('accepts a request of the edge, also with the previous secret during a rotation', () => {
    expect(verifyRequest(secretOf(1), request(), at)).toBe(true);
    const both = request({}, signature(later(60).getTime()));
    expect(verifyRequest(secretOf(0), both, later(299))).toBe(true);
  });

  it.each([
    ['another secret', secretOf(0), request(), at],
    ['another host', secretOf(1), request({ host: 'evil.example' }), at],
    ['another address', secretOf(1), request({ 'x-forwarded-for': '192.0.2.2' }), at],
    ['another path', secretOf(1), { ...request(), url: '/' }, at],
    ['no header', secretOf(1), request({}, ''), at],
    ['an old time', secretOf(1), request(), later(301)],
  ])('refuses %s', (_what, secret, given, now) => {
    expect(verifyRequest(secret, given, now)).toBe(false);
  });

  it('throws for a secret that is cut off', () => {
    expect(() => verifyRequest('sigsec_AAAA', request(), at)).toThrow('not complete');
  });
});
