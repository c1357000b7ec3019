/** Signed requests with nonces (RFC 8555, 6.2 and 6.5), independent of accounts and orders. */

import { createPublicKey, type KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { calculateJwkThumbprint, exportJWK, FlattenedSign } from 'jose';
import { z } from 'zod';
import { HOUR } from '../../core/time.ts';
import { createSingleFlight } from '../../net/load-once.ts';
import { createTokenBuckets } from '../../net/token-buckets.ts';
import type { OrderProblem } from '../authorities/authority.ts';
import { certificateFault } from '../fault.ts';
import {
  faultOf,
  isBadNonce,
  jsonOrUndefined,
  problemOf,
  retryAfterOf,
  toProblem,
} from './problems.ts';
import type { AcmeTransport, TransportReply } from './transport.ts';

/** A CA that refuses nine of ten valid nonces then fails once in 38,000 requests. */
const NONCE_TRIES_MAX = 100;
/** After this many refused nonces, each try waits NONCE_PAUSE_MS to spare the server. */
const NONCE_TRIES_AT_ONCE = 10;
const NONCE_PAUSE_MS = 20;
/** One per order in progress, plus some: 50 renewals and 10 others. */
const NONCES_KEPT_MAX = 64;
/** Three quarters of Let's Encrypt's limit per address (letsencrypt.org/docs/rate-limits). */
const NEW_NONCES = { perSecond: 15, burst: 10 } as const;
const DIRECTORY_KEPT_MS = HOUR;

const notFound = {
  type: 'about:blank',
  detail: 'The authority does not have this.',
  subproblems: [],
};

/** A 2xx response. `location`: an https URL; null if missing or invalid. */
type AcmeAnswer = {
  readonly kind: 'answer';
  readonly body: string;
  readonly location: string | null;
  readonly retryAfter: Date | null;
};

export type AcmeRefusal = {
  readonly kind: 'refused';
  readonly status: number;
  readonly problem: OrderProblem;
};

export type AcmeReply = AcmeAnswer | AcmeRefusal;

/** `payload` null makes it a POST-as-GET (RFC 8555, 6.3); `accept` defaults to JSON. */
export type AcmePost = {
  readonly url: string;
  readonly payload: object | null;
  readonly accept?: string | undefined;
};

/** All calls of a process share its nonces and its directory. */
export type AcmeSession = {
  /** Cached for DIRECTORY_KEPT_MS. */
  readonly directory: () => Promise<Directory>;
  /** Fetches a nonce, which uses no order limit. Throws a CertificateFault. */
  readonly reach: () => Promise<void>;
  readonly get: (url: string) => Promise<TransportReply>;
  /** Retries a refused nonce. Throws a CertificateFault for 5xx, silence and non-ACME responses. */
  readonly post: (signer: Signer, request: AcmePost) => Promise<AcmeReply>;
};

export type SessionDeps = {
  readonly directoryUrl: string;
  readonly transport: AcmeTransport;
  readonly now: () => Date;
  /** Resolves when a new nonce can be requested. */
  readonly pace?: () => Promise<void>;
};

function createNoncePace(): () => Promise<void> {
  const buckets = createTokenBuckets(NEW_NONCES, () => performance.now());
  return async () => {
    const waitMs = buckets.reserve('');
    if (waitMs > 0) await delay(waitMs);
  };
}

export function createAcmeSession({
  directoryUrl,
  transport,
  now,
  pace = createNoncePace(),
}: SessionDeps): AcmeSession {
  const nonces: string[] = [];
  let known: { readonly directory: Directory; readonly until: number } | null = null;

  const fetchOnce = createSingleFlight<Directory>();

  async function fetchFresh(at: Date): Promise<Directory> {
    const directory = await fetchDirectory(transport, directoryUrl, at);
    known = { directory, until: at.getTime() + DIRECTORY_KEPT_MS };
    return directory;
  }

  const directory = async () => {
    const at = now();
    if (known !== null && known.until > at.getTime()) return known.directory;
    return fetchOnce(directoryUrl, () => fetchFresh(at));
  };

  /** Every response brings the next nonce, errors too (RFC 8555, 6.5.1). */
  function keepNonce({ headers }: TransportReply): void {
    const nonce = headers['replay-nonce'];
    if (typeof nonce !== 'string' || !/^[\w-]+$/.test(nonce)) return;
    nonces.push(nonce);
    if (nonces.length > NONCES_KEPT_MAX) nonces.shift();
  }

  async function reach(): Promise<void> {
    const { newNonce: url } = await directory();
    await pace();
    const reply = await transport({ method: 'HEAD', url });
    if (reply.status < 200 || reply.status >= 300) throw faultOf(reply, now());
    keepNonce(reply);
  }

  async function takeNonce(): Promise<string> {
    if (nonces.length === 0) await reach();
    const nonce = nonces.pop(); // the newest: old ones may have expired
    if (nonce === undefined) throw certificateFault('ca_answer_unreadable', 'the nonce is missing');
    return nonce;
  }

  async function post(signer: Signer, { url, payload, accept }: AcmePost): Promise<AcmeReply> {
    for (let tries = 1; ; tries++) {
      const nonce = await takeNonce();
      const body = await signRequest(signer, { url, nonce, payload });
      const reply = await transport({ method: 'POST', url, accept, body });
      keepNonce(reply);
      const classified = classify(reply, payload, now());
      if (classified !== 'bad_nonce') return classified;
      if (tries >= NONCE_TRIES_MAX) throw faultOf(reply, now());
      if (tries >= NONCE_TRIES_AT_ONCE) await delay(NONCE_PAUSE_MS);
    }
  }

  return { directory, reach, get: (url) => transport({ method: 'GET', url }), post };
}

/** Throws for everything except success, a refusal and a refused nonce. */
function classify(
  reply: TransportReply,
  payload: object | null,
  now: Date,
): AcmeReply | 'bad_nonce' {
  const { status, body } = reply;
  const retryAfter = retryAfterOf(reply, now);
  if (status >= 200 && status < 300) {
    return { kind: 'answer', body, location: locationOf(reply), retryAfter };
  }
  // Pebble sends 404s without a problem document.
  const document = problemOf(reply) ?? (status === 404 && payload === null ? notFound : null);
  if (document === null || status >= 500) throw faultOf(reply, now);
  if (isBadNonce(document)) return 'bad_nonce';
  return { kind: 'refused', status, problem: toProblem(document, retryAfter) };
}

/** Null if missing or not https: a stored order URL must lead to an ACME server. */
function locationOf({ headers: { location } }: TransportReply): string | null {
  return location !== undefined && /^https:/i.test(location) && URL.canParse(location)
    ? location
    : null;
}

const schema = z.object({
  newNonce: z.string(),
  newAccount: z.string(),
  newOrder: z.string(),
  /** RFC 9773, 3. */
  renewalInfo: z.string().optional(),
  meta: z
    .object({
      externalAccountRequired: z.boolean().optional(),
      /** Names and descriptions (draft-ietf-acme-profiles, 3). */
      profiles: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

export type Directory = Readonly<z.infer<typeof schema>>;

/** Throws `ca_unreachable`, `ca_failed` or `ca_answer_unreadable`. */
async function fetchDirectory(
  transport: AcmeTransport,
  url: string,
  now: Date,
): Promise<Directory> {
  const reply = await transport({ method: 'GET', url });
  if (reply.status !== 200) throw faultOf(reply, now);
  const parsed = schema.safeParse(jsonOrUndefined(reply.body));
  if (!parsed.success) {
    throw certificateFault('ca_answer_unreadable', 'the response is not an ACME directory', {
      cause: parsed.error,
    });
  }
  return parsed.data;
}

type Signer = {
  /** P-256. */
  readonly key: KeyObject;
  /** Null for newAccount, which carries the public key. */
  readonly accountUrl: string | null;
};

type SignedPart = {
  readonly url: string;
  readonly nonce: string;
  readonly payload: object | null;
};

/** A JWS in the flattened JSON serialization, ES256. */
async function signRequest(
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

/** An account that exists at the CA outside of ACME (RFC 8555, 7.3.4). */
export type ExternalAccount = {
  readonly kid: string;
  readonly hmacKey: Uint8Array;
};

/** The JWS that binds our account to an external one (RFC 8555, 7.3.4), signed with HS256. */
export async function signBinding(
  { kid, hmacKey }: ExternalAccount,
  { key, url }: { readonly key: KeyObject; readonly url: string },
): Promise<object> {
  const content = new TextEncoder().encode(JSON.stringify(await publicJwk(key)));
  return new FlattenedSign(content).setProtectedHeader({ alg: 'HS256', kid, url }).sign(hmacKey);
}

/** The response that the edge serves for a token: `token.thumbprint` (RFC 8555, 8.1). */
export async function keyAuthorization(token: string, accountKey: KeyObject): Promise<string> {
  return `${token}.${await calculateJwkThumbprint(await publicJwk(accountKey))}`;
}

function publicJwk(key: KeyObject) {
  return exportJWK(createPublicKey(key));
}
