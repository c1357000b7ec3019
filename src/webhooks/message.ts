/** Standard Webhooks 1.0.0, signed with one secret or, after a rotation, two. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Webhook } from '../core/records.ts';
import type { EventToDeliver } from '../db/delivery/deliveries.ts';
import { eventView } from '../events/event-stream.ts';
import { renderJson } from '../net/json.ts';

/** The `webhook-id`, the same for every receiver and attempt. */
export function messageIdOf({ messageId }: Pick<EventToDeliver, 'messageId'>): string {
  return `msg_${messageId}`;
}

/** `{type, timestamp, data}` ("Payload structure"); `data` is the API's Event with its project. */
export function bodyOf(event: EventToDeliver): string {
  const { type, at, projectId } = event;
  return renderJson({ type, timestamp: at, data: { ...eventView(event), projectId } });
}

export type SignedMessage = {
  readonly messageId: string;
  /** Of the attempt, not of the event: receivers refuse signatures that are minutes old. */
  readonly at: Date;
  readonly body: string;
  /** Each one signs; a receiver accepts the message if one signature matches. */
  readonly secrets: readonly Uint8Array[];
};

/** "Webhook headers" of the specification. The timestamp is in whole seconds since 1970 (UTC). */
export function signatureHeaders({ messageId, at, body, secrets }: SignedMessage) {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const content = `${messageId}.${timestamp}.${body}`;
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`,
  );
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** A message about nothing, for trying a receiver. */
export function testBodyOf({ id, projectId }: Pick<Webhook, 'id' | 'projectId'>, at: Date): string {
  return renderJson({ type: TEST_TYPE, timestamp: at, data: { webhookId: id, projectId } });
}

export const TEST_TYPE = 'webhook.test';

type SigningWebhook = Pick<Webhook, 'id' | 'sealedSecret' | 'sealedOldSecret' | 'oldSecretEndsAt'>;

/** Headers of a message, signed with the webhook's secrets, which are wiped. Throws the vault's faults. */
export function signedHeaders(
  vault: Vault,
  webhook: SigningWebhook,
  message: Omit<SignedMessage, 'secrets'>,
) {
  const secrets = secretsOf(vault, webhook, message.at);
  const headers = signatureHeaders({ ...message, secrets });
  for (const secret of secrets) secret.fill(0);
  return headers;
}

/** Newest first, then the previous secret while it is valid. */
function secretsOf(vault: Vault, webhook: SigningWebhook, at: Date): readonly Uint8Array[] {
  const { id, sealedSecret, sealedOldSecret, oldSecretEndsAt } = webhook;
  const old = oldSecretEndsAt !== null && oldSecretEndsAt > at ? sealedOldSecret : null;
  const sealed = old === null ? [sealedSecret] : [sealedSecret, old];
  return sealed.map((one) => openSecret(vault, id, one));
}

/** Standard Webhooks requires 24 to 64; HMAC-SHA256's output size is enough (RFC 2104, 3). */
const SECRET_BYTES = 32;

export type MintedSecret = {
  /** `whsec_` and base64, as receivers' libraries expect it. Show it once, never store it. */
  readonly secret: string;
  /** Opens only with the id of this webhook. */
  readonly sealed: Uint8Array<ArrayBuffer>;
};

/** Stores nothing. */
export function mintSecret(vault: Vault, webhookId: string): MintedSecret {
  const bytes = randomBytes(SECRET_BYTES);
  return {
    secret: `whsec_${bytes.toString('base64')}`,
    sealed: vault.seal(bytes, sealOf(webhookId)),
  };
}

/** The caller may overwrite the bytes afterwards. Throws the vault's faults. */
export function openSecret(vault: Vault, webhookId: string, sealed: Uint8Array): Uint8Array {
  return vault.open(sealed, sealOf(webhookId));
}

/** Independent of the column, since a rotation moves the old secret to another one. */
function sealOf(webhookId: string): string {
  return `webhook/${webhookId}`;
}
