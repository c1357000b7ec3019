/** Signs the requests to deploys, as Stripe signs webhooks: so a deploy can tell that a request came through here. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';

/**
 * Its name is ours, and not `Signature` (RFC 9421): that one is the visitors' own, and goes on untouched. What they send under
 * ours is dropped (forwarded-headers.ts).
 */
export const SIGNATURE_FIELD = 'signpost-signature';

/** The key of a project's generation (src/core/operations/edge-route.ts), always the same, of 32 bytes. */
export type SigningKey = (projectId: string, generation: number) => Uint8Array;

/** What is signed of a request, each as it is sent to the deploy, in bytes (latin1). None of them can have a line break in it. */
export type Signed = {
  readonly method: string;
  readonly host: string;
  /** With its query. */
  readonly path: string;
  readonly forwardedFor: string;
};

/** Our choice: 10,000 projects at some 200 bytes; the next one's key costs one HMAC. */
const KEYS_MAX = 10_000;

/**
 * Returns the function that makes the field of a request: `t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, with a second `v1`
 * while the key before signs as well. `clock`: milliseconds since 1970.
 */
export function createSign(
  signingKey: SigningKey,
  clock: () => number = Date.now,
): (project: Pick<EdgeRoute, 'projectId' | 'signing'>, signed: Signed) => string {
  const keys = new LRUCache<string, KeyObject>({ max: KEYS_MAX });

  function keyOf(projectId: string, generation: number): KeyObject {
    const id = `${projectId}/${generation}`;
    const known = keys.get(id);
    if (known !== undefined) return known;
    const key = createSecretKey(signingKey(projectId, generation));
    keys.set(id, key);
    return key;
  }

  return ({ projectId, signing }, { method, host, path, forwardedFor }) => {
    const now = clock();
    const t = Math.floor(now / 1_000);
    const text = `${t}\n${method}\n${host}\n${path}\n${forwardedFor}`;
    const by = (generation: number) =>
      createHmac('sha256', keyOf(projectId, generation)).update(text, 'latin1').digest('hex');
    const { generation, oldEndsAt } = signing;
    const field = `t=${t},v1=${by(generation)}`;
    return oldEndsAt !== null && now < oldEndsAt ? `${field},v1=${by(generation - 1)}` : field;
  };
}
