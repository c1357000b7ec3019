/** Signs requests like Stripe's webhooks, so deploys can verify that they came through the edge. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';

/** Not `Signature` (RFC 9421), which belongs to visitors and is forwarded. */
export const SIGNATURE_FIELD = 'signpost-signature';

/** 32 bytes per project and generation (src/core/operations/edge-route.ts). It never changes. */
export type SigningKey = (projectId: string, generation: number) => Uint8Array;

/** As sent to the deploy, in bytes (latin1). The parts contain no line breaks. */
export type SignedRequest = {
  readonly method: string;
  readonly host: string;
  /** Includes the query. */
  readonly path: string;
  readonly forwardedFor: string;
};

/** 10,000 projects at about 200 bytes; a miss costs one HMAC. */
const KEYS_MAX = 10_000;

/** `t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>`, and a second `v1` while two keys sign. */
export function createSign(
  signingKey: SigningKey,
  clock: () => number = Date.now,
): (project: Pick<EdgeRoute, 'projectId' | 'signing'>, signed: SignedRequest) => string {
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
