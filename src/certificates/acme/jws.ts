/** Signatures over requests (RFC 8555, 6.2) and over challenges (8.1), with jose. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, FlattenedSign } from 'jose';

/** Who signs a request. */
export type Signer = {
  /** A P-256 private key. */
  readonly key: KeyObject;
  /** The account's URL; null for newAccount, which carries the public key itself. */
  readonly accountUrl: string | null;
};

/** What a request carries under its signature. */
export type SignedPart = {
  readonly url: string;
  readonly nonce: string;
  /** Sent as JSON; null makes it a POST-as-GET (RFC 8555, 6.3). */
  readonly payload: object | null;
};

/** Resolves with the body of a request: a JWS in the flattened JSON serialization, ES256. */
export async function signRequest(
  { key, accountUrl }: Signer,
  { url, nonce, payload }: SignedPart,
): Promise<string> {
  const identity = accountUrl === null ? { jwk: await publicJwk(key) } : { kid: accountUrl };
  const content = new TextEncoder().encode(payload === null ? '' : JSON.stringify(payload));
  const jws = await new FlattenedSign(content)
    .setProtectedHeader({ alg: 'ES256', nonce, url, ...identity })
    .sign(key);
  return JSON.stringify(jws);
}

/** An account at the authority that was made by other means than ACME (RFC 8555, 7.3.4). */
export type ExternalAccount = {
  readonly kid: string;
  readonly hmacKey: Uint8Array;
};

/**
 * Resolves with the JWS by which an external account claims the new account of `key`: its public half, signed with
 * HS256.
 */
export async function signBinding(
  { kid, hmacKey }: ExternalAccount,
  { key, url }: { readonly key: KeyObject; readonly url: string },
): Promise<object> {
  const content = new TextEncoder().encode(JSON.stringify(await publicJwk(key)));
  return new FlattenedSign(content).setProtectedHeader({ alg: 'HS256', kid, url }).sign(hmacKey);
}

/** Resolves with what the edge has to answer for a token: `token.thumbprint` (RFC 8555, 8.1). */
export async function keyAuthorization(token: string, accountKey: KeyObject): Promise<string> {
  return `${token}.${await calculateJwkThumbprint(await publicJwk(accountKey))}`;
}

function publicJwk(key: KeyObject) {
  return exportJWK(createPublicKey(key));
}
