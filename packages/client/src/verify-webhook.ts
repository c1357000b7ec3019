/** Standard Webhooks 1.0.0. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { components } from './schema.ts';

/** Discriminated by `type`. Later versions add types. */
export type WebhookMessage = components['schemas']['WebhookMessage'];

/** The message is not from Signpost, or it was changed or repeated. Answer with 400. */
export class InvalidMessage extends Error {
  override readonly name = 'InvalidMessage';
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Repeated and delayed messages have other times (Standard Webhooks). */
const TOLERANCE_SECONDS = 300;

/**
 * Throws InvalidMessage. `body`: as it arrived, before parsing. `headers`: names in lower case.
 * Pass both secrets during a rotation. The caller drops messages whose `webhook-id` it has seen.
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  headers: Headers,
  body: string | Uint8Array,
  now: Date = new Date(),
): WebhookMessage {
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => String(headers[name] ?? ''),
  );
  const age = Math.abs(now.getTime() / 1_000 - Number(time || Number.NaN));
  if (!(age <= TOLERANCE_SECONDS)) throw new InvalidMessage('the time is missing or too far away');
  const keys = typeof secrets === 'string' ? [secrets] : secrets;
  const given = (signatures ?? '').split(' ');
  const isSigned = keys.some((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${time}.`).update(body);
    const expected = hmac.digest();
    return given.some((one) => isSame(one, expected));
  });
  if (!isSigned) throw new InvalidMessage('no signature matches');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  return JSON.parse(text) as WebhookMessage; // signed by Signpost, whose document has the shape
}

function keyOf(secret: string): Buffer {
  if (!secret.startsWith('whsec_')) throw new Error('a webhook secret starts with whsec_');
  return Buffer.from(secret.slice('whsec_'.length), 'base64');
}

function isSame(signature: string, expected: Buffer): boolean {
  if (!signature.startsWith('v1,')) return false;
  const given = Buffer.from(signature.slice('v1,'.length), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
