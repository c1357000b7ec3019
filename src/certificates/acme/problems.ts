/** Parses refusals: problem documents (RFC 9457) with the types of RFC 8555, 6.7. */

import { z } from 'zod';
import type { ProblemType } from '../../core/certificates/problem-words.ts';
import { DAY } from '../../core/time.ts';
import type { OrderProblem } from '../authorities/authority.ts';
import { type CertificateFault, certificateFault } from '../fault.ts';
import type { TransportReply } from './transport.ts';

const NAMESPACE = 'urn:ietf:params:acme:error:';
/** In code points. */
const DETAIL_MAX = 500;
/** A longer wait is a server's mistake; the daily retry applies. */
const RETRY_AFTER_MS_MAX = 7 * DAY;

/** The types of RFC 8555, 9.7.3 that an order can get; session.ts handles badNonce. */
const typeOf: Readonly<Record<string, ProblemType>> = {
  accountDoesNotExist: 'account_does_not_exist',
  alreadyReplaced: 'already_replaced',
  badCSR: 'bad_csr',
  badPublicKey: 'bad_public_key',
  badSignatureAlgorithm: 'bad_signature_algorithm',
  caa: 'caa',
  connection: 'connection',
  dns: 'dns',
  externalAccountRequired: 'external_account_required',
  incorrectResponse: 'incorrect_response',
  invalidContact: 'invalid_contact',
  invalidProfile: 'invalid_profile',
  malformed: 'malformed',
  orderNotReady: 'order_not_ready',
  rateLimited: 'rate_limited',
  rejectedIdentifier: 'rejected_identifier',
  tls: 'tls',
  unauthorized: 'unauthorized',
  unsupportedContact: 'unsupported_contact',
  unsupportedIdentifier: 'unsupported_identifier',
  userActionRequired: 'user_action_required',
};

const part = { type: z.string().default('about:blank'), detail: z.string().default('') };

/** Missing members get defaults; unknown ones are dropped. */
export const problemSchema = z.object({
  ...part,
  subproblems: z.array(z.object(part)).default([]),
});
/** Foreign text: use `toProblem` before display. */
export type ProblemDocument = z.infer<typeof problemSchema>;

/** `compound`: the first subproblem (RFC 8555, 6.7.1), because every order has one name. */
export function toProblem(document: ProblemDocument, retryAfter: Date | null = null): OrderProblem {
  const { type, detail } =
    document.type === `${NAMESPACE}compound` ? (document.subproblems[0] ?? document) : document;
  const name = type.startsWith(NAMESPACE) ? type.slice(NAMESPACE.length) : '';
  const known = Object.hasOwn(typeOf, name) ? typeOf[name] : undefined;
  const isFromAfar = known !== undefined && ofValidation.has(known) && SECONDARY.test(detail);
  const kind = isFromAfar ? 'secondary_validation' : (known ?? 'other');
  return { type: kind, detail: plainLine(detail), retryAfter };
}

const ofValidation: ReadonlySet<ProblemType> = new Set([
  'caa',
  'connection',
  'dns',
  'incorrect_response',
  'malformed',
  'tls',
  'unauthorized',
]);

/**
 * How Boulder, the software of Let's Encrypt, begins the detail when only its remote perspectives failed
 * (letsencrypt/boulder, va/va.go).
 */
const SECONDARY = /^During secondary [a-z ]+:/i;

export function problemOf(reply: TransportReply): ProblemDocument | null {
  const parsed = problemSchema.safeParse(jsonOrUndefined(reply.body));
  return parsed.success && parsed.data.type.startsWith(NAMESPACE) ? parsed.data : null;
}

/** The same request with a new nonce may succeed (RFC 8555, 6.5). */
export function isBadNonce(document: ProblemDocument): boolean {
  return document.type === `${NAMESPACE}badNonce`;
}

/** For a response that is neither success nor an ACME refusal. */
export function faultOf(reply: TransportReply, now: Date): CertificateFault {
  return certificateFault('ca_failed', `the authority answered ${reply.status}`, {
    retryAfter: retryAfterOf(reply, now),
  });
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3), clamped. Null if missing or invalid. */
export function retryAfterOf({ headers }: Pick<TransportReply, 'headers'>, now: Date): Date | null {
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  if (Number.isNaN(waitMs)) return null;
  return new Date(now.getTime() + Math.min(Math.max(waitMs, 0), RETRY_AFTER_MS_MAX));
}

/** Undefined for invalid JSON, so that a schema refuses it. Never throws. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One line of at most DETAIL_MAX, without control and direction characters. */
export function plainLine(text: string): string {
  const line = text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return [...line].slice(0, DETAIL_MAX).join(''); // by code point, so that no surrogate pair is cut
}
