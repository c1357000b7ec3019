import { createHmac, timingSafeEqual } from 'node:crypto';

/** As it arrived at the deploy, before a framework changed it: `IncomingMessage` fits. */
export type SignedRequest = {
  readonly method?: string | undefined;
  /** Path with query. */
  readonly url?: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};

const TOLERANCE_SECONDS = 300;
const KEY_BYTES = 32;

/** Whether a request came through Signpost's edge. `secret`: the project's, with `sigsec_`. */
export function verifyRequest(
  secret: string,
  { method, url, headers }: SignedRequest,
  now: Date = new Date(),
): boolean {
  const key = Buffer.from(secret.replace(/^sigsec_/, ''), 'base64');
  if (key.length !== KEY_BYTES) throw new Error('the signing secret is not complete');
  const parts = String(headers['signpost-signature'] ?? '')
    .split(',')
    .map((part) => part.split('='));
  const time = parts.find(([name]) => name === 't')?.[1];
  if (!(Math.abs(now.getTime() / 1_000 - Number(time ?? Number.NaN)) <= TOLERANCE_SECONDS)) {
    return false;
  }
  const lines = [time, method, headers['host'], url, headers['x-forwarded-for']];
  const expected = createHmac('sha256', key).update(lines.join('\n'), 'latin1').digest();
  return parts.some(([name, value = '']) => {
    const given = Buffer.from(value, 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
