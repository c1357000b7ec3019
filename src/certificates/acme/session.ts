/** Signed requests with nonces (RFC 8555, 6.2 and 6.5), without knowledge of accounts and orders. */

import { createPublicKey, type KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { calculateJwkThumbprint, exportJWK, FlattenedSign } from 'jose';
import { z } from 'zod';
import type { OrderProblem } from '../authorities/authority.ts';
import { certificateFault } from '../fault.ts';
import { createPace } from './pacer.ts';
import { faultOf, isBadNonce, parseJson, problemOf, retryAfterOf, toProblem } from './problems.ts';
import type { Transport, TransportReply } from './transport.ts';

/** Pebble can be told to refuse nine good nonces of ten; this many tries all fail once in 37,000 requests even then. */
const NONCE_TRIES_MAX = 100;
/** After so many refused nonces each further try waits NONCE_PAUSE_MS, so that the server is not overrun. */
const NONCE_TRIES_AT_ONCE = 10;
const NONCE_PAUSE_MS = 20;
/** One for each order that a process has under way, and some more: 50 renewals and 10 others. */
const NONCES_KEPT_MAX = 64;
/**
 * Let's Encrypt allows an address 20 new nonces a second and 10 at once (letsencrypt.org/docs/rate-limits, overall
 * requests), and each order asks for one. We use three quarters of it.
 */
const NEW_NONCES = { gapMs: 1_000 / 15, atOnce: 10 } as const;
const DIRECTORY_KEPT_MS = 3_600_000;

const notFound = {
  type: 'about:blank',
  detail: 'The authority does not have this.',
  subproblems: [],
};

/** A 2xx answer. `location` is an https URL; null where it is missing or is none. */
export type AcmeAnswer = {
  readonly kind: 'answer';
  readonly body: string;
  readonly location: string | null;
  readonly retryAfter: Date | null;
};

/** The server refused (4xx with a problem document). */
export type AcmeRefusal = {
  readonly kind: 'refused';
  /** Of HTTP. */
  readonly status: number;
  readonly problem: OrderProblem;
};

/** What came of a signed request; everything else is thrown. */
export type AcmeReply = AcmeAnswer | AcmeRefusal;

/** A request to be signed. `payload` null makes it a POST-as-GET (RFC 8555, 6.3); `accept` is JSON unless given. */
export type AcmePost = {
  readonly url: string;
  readonly payload: object | null;
  readonly accept?: string | undefined;
};

/** Talks to one ACME server. All calls of a process share its nonces and its directory. */
export type AcmeSession = {
  /** Resolves with the directory, fetched when it is first needed and once an hour, because what it offers changes. */
  readonly directory: () => Promise<Directory>;
  /** Gets a new nonce, which counts for no limit of orders. Throws a CertificateFault where the server gives none. */
  readonly reach: () => Promise<void>;
  /** Gets a URL without a signature and resolves for every status. Throws `ca_unreachable`. */
  readonly get: (url: string) => Promise<TransportReply>;
  /**
   * Signs and sends a request, again with another nonce where that was refused. Throws a CertificateFault for 5xx, for
   * no answer and for answers that are none of ACME's.
   */
  readonly post: (signer: Signer, request: AcmePost) => Promise<AcmeReply>;
};

/** What a session is made of. */
export type SessionDeps = {
  readonly directoryUrl: string;
  readonly transport: Transport;
  readonly now: () => Date;
  /** Resolves when a new nonce may be asked for; a rate below Let's Encrypt's unless given. */
  readonly pace?: () => Promise<void>;
};

/** Returns a session that has asked nothing yet. One for each directory and process. */
export function createSession({
  directoryUrl,
  transport,
  now,
  pace = createPace(NEW_NONCES),
}: SessionDeps): AcmeSession {
  const nonces: string[] = [];
  let known: { readonly directory: Directory; readonly until: number } | null = null;

  let fetching: Promise<Directory> | null = null;

  async function fetchFresh(at: Date): Promise<Directory> {
    const directory = await fetchDirectory(transport, directoryUrl, at);
    known = { directory, until: at.getTime() + DIRECTORY_KEPT_MS };
    return directory;
  }

  /** Fetched once for all who need it meanwhile. */
  const directory = async () => {
    const at = now();
    if (known !== null && known.until > at.getTime()) return known.directory;
    fetching ??= fetchFresh(at).finally(() => {
      fetching = null;
    });
    return fetching;
  };

  /** Every answer brings the next nonce, errors too (RFC 8555, 6.5.1). */
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
    const nonce = nonces.pop(); // the youngest: old ones may have expired
    if (nonce === undefined) throw certificateFault('ca_answer_unreadable', 'there is no nonce');
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

/** Tells success, a refusal, and the refusal of a nonce apart; throws for the rest. */
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
  // Pebble's 404 for what it does not have comes without a document.
  const document = problemOf(reply) ?? (status === 404 && payload === null ? notFound : null);
  if (document === null || status >= 500) throw faultOf(reply, now);
  if (isBadNonce(document)) return 'bad_nonce';
  return { kind: 'refused', status, problem: toProblem(document, retryAfter) };
}

/** Null without, and for what is no address of an ACME server: what is kept as an order's must lead to one. */
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
      /** Names and what they are (draft-ietf-acme-profiles, 3). */
      profiles: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

/** The URLs that the server offers (RFC 8555, 7.1.1); `renewalInfo` is missing where it has none. */
export type Directory = Readonly<z.infer<typeof schema>>;

/** Fetches the directory. Throws `ca_unreachable`, `ca_failed` or `ca_answer_unreadable`. */
export async function fetchDirectory(
  transport: Transport,
  url: string,
  now: Date,
): Promise<Directory> {
  const reply = await transport({ method: 'GET', url });
  if (reply.status !== 200) throw faultOf(reply, now);
  const parsed = schema.safeParse(parseJson(reply.body));
  if (!parsed.success) {
    throw certificateFault('ca_answer_unreadable', 'this is no ACME directory', {
      cause: parsed.error,
    });
  }
  return parsed.data;
}

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
