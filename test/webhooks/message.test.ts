import { describe, expect, it } from 'vitest';
import { createVault } from '../../src/certificates/vault/vault.ts';
import {
  bodyOf,
  messageIdOf,
  mintSecret,
  openSecret,
  signatureHeaders,
} from '../../src/webhooks/message.ts';
import { noon } from '../support/builders.ts';
import { type Received, verified } from '../support/receiver.ts';

const vault = createVault(new Uint8Array(32));
const event = {
  number: 7n,
  type: 'domain.failed',
  at: noon,
  data: {
    reason: 'window_ended',
    findings: [{ code: 'plan_required', hostname: 'docs.shop.test' }],
  },
  domain: { hostname: 'docs.shop.test' },
  domainId: '00000000-0000-0000-0000-00000000000d',
  metadata: { value: { site: 'handbook' } },
  projectMetadata: null,
  metadataCopy: {},
  projectMetadataCopy: {},
  projectId: '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  messageId: '5f0c7a52-6f0e-4a0b-9a6d-1d2c3b4a5968',
};

function minted() {
  const { secret, sealed } = mintSecret(vault, 'w1');
  return { secret, bytes: openSecret(vault, 'w1', sealed), sealed };
}

function message(secrets: readonly Uint8Array[], at = new Date()): Received {
  const body = bodyOf(event);
  const messageId = messageIdOf(event);
  return { headers: signatureHeaders({ messageId, at, body, secrets }), body, path: '/' };
}

describe('A webhook message', () => {
  it('has the type, the time, the event and its owner', () => {
    expect(JSON.parse(bodyOf(event))).toEqual({
      type: 'domain.failed',
      timestamp: '2026-11-20T12:00:00.000Z',
      data: {
        id: 7,
        type: 'domain.failed',
        hostname: 'docs.shop.test',
        domainId: event.domainId,
        metadata: { site: 'handbook' },
        projectMetadata: {},
        at: '2026-11-20T12:00:00.000Z',
        data: {
          reason: 'window_ended',
          // As in the API: worded, not as stored.
          findings: [
            expect.objectContaining({
              code: 'plan_required',
              severity: 'blocks',
              actor: 'customer',
              summary: expect.stringContaining('docs.shop.test'),
              action: expect.stringMatching(/\w+ \w+/),
            }),
          ],
        },
        projectId: event.projectId,
      },
    });
  });

  it('is verified by the Standard Webhooks library with its own secret only', () => {
    const { secret, bytes } = minted();
    const sent = message([bytes]);
    expect(verified(secret, sent).data.id).toBe(7);
    expect(sent.headers['webhook-id']).toBe(`msg_${event.messageId}`);
    expect(() => verified(minted().secret, sent)).toThrow('No matching signature');
  });

  it('is verified with the old and the new secret while both sign', () => {
    const [old, fresh] = [minted(), minted()];
    const sent = message([fresh.bytes, old.bytes]);
    expect(sent.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
    for (const { secret } of [old, fresh]) expect(verified(secret, sent).data.id).toBe(7);
  });

  it('is rejected after a change or after its time', () => {
    const { secret, bytes } = minted();
    const sent = message([bytes]);
    const { headers } = sent;
    const body = sent.body.replace('docs.shop', 'evil.shop');
    const tampered: readonly Received[] = [
      { ...sent, body },
      { ...sent, headers: { ...headers, 'webhook-id': 'msg_other' } },
      {
        ...sent,
        headers: {
          ...headers,
          'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1),
        },
      },
    ];
    for (const one of tampered) expect(() => verified(secret, one)).toThrow('No matching');
    expect(() => verified(secret, message([bytes], noon))).toThrow('timestamp too');
  });
});

describe('A webhook secret', () => {
  it('is 32 random bytes in the format of receiver libraries', () => {
    const { secret, bytes } = minted();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toEqual(Buffer.from(bytes));
    expect(minted().secret).not.toBe(secret);
  });

  it('opens only for its own webhook', () => {
    const { sealed, bytes } = minted();
    expect(Buffer.from(sealed).includes(Buffer.from(bytes))).toBe(false);
    expect(() => openSecret(vault, 'w2', sealed)).toThrow();
  });
});
