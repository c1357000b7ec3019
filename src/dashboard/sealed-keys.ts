/** What the token in a session's cookie opens: the key that was signed in with, and the token of its forms. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import type { SessionSecret } from '../db/sessions.ts';

const [TOKEN_BYTES, CHECK_BYTES] = [32, 16];
const [NONCE_BYTES, TAG_BYTES, KEY_BYTES, FORM_BYTES] = [12, 16, 32, 16];
const CIPHER = 'aes-256-gcm';

/** A new token, for a cookie, in base64url: 32 random bytes and what shows that they are ours. */
export function newToken(secret: Uint8Array): string {
  const random = randomBytes(TOKEN_BYTES);
  return Buffer.concat([random, checkOf(secret, random)]).toString('base64url');
}

/** Whether a token was made with this secret: what somebody made up is known without a query. */
export function isToken(secret: Uint8Array, value: string): boolean {
  if (!/^[\w-]{64}$/.test(value)) return false; // as long as both parts are
  const bytes = Buffer.from(value, 'base64url');
  const [random, check] = [bytes.subarray(0, TOKEN_BYTES), bytes.subarray(TOKEN_BYTES)];
  return timingSafeEqual(check, checkOf(secret, random));
}

/** Of a key of its own: the secret alone is the salt of what opens the API key. */
function checkOf(secret: Uint8Array, random: Uint8Array): Uint8Array {
  const key = hkdfSync('sha256', secret, '', 'signpost session cookie', KEY_BYTES);
  const mac = createHmac('sha256', new Uint8Array(key)).update(random).digest();
  return mac.subarray(0, CHECK_BYTES);
}

/** SHA-256 of a token: what its session is found by. */
export function digestOfToken(token: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(token).digest());
}

/**
 * Seals an API key for who has the token (AES-256-GCM). The key of the cipher is made of the token and the installation's
 * secret, so that neither the database nor a cookie opens it alone, nor both without the secret.
 */
export function sealKey(secret: Uint8Array, token: string, apiKey: string): SessionSecret {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, derived(secret, token).sealing, nonce);
  const sealed = Buffer.concat([nonce, cipher.update(apiKey, 'utf8'), cipher.final()]);
  return {
    digest: digestOfToken(token),
    sealedKey: new Uint8Array(Buffer.concat([sealed, cipher.getAuthTag()])),
  };
}

/** The API key and the token of the session's forms; null where the token or the secret is another one. */
export function openKey(
  secret: Uint8Array,
  token: string,
  sealed: Uint8Array,
): { readonly apiKey: string; readonly csrf: string } | null {
  const { sealing, csrf } = derived(secret, token);
  try {
    const decipher = createDecipheriv(CIPHER, sealing, sealed.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const text = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
    return { apiKey: Buffer.concat([decipher.update(text), decipher.final()]).toString(), csrf };
  } catch {
    return null; // sealed with another secret: all the same to who has it
  }
}

/** RFC 5869. The form's token says nothing of the cookie's. */
function derived(secret: Uint8Array, token: string) {
  const bytes = hkdfSync('sha256', token, secret, 'signpost session', KEY_BYTES + FORM_BYTES);
  const both = Buffer.from(bytes);
  return {
    sealing: both.subarray(0, KEY_BYTES),
    csrf: both.subarray(KEY_BYTES).toString('base64url'),
  };
}
