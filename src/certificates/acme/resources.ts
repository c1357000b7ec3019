/** Orders and authorizations as an ACME server shows them (RFC 8555, 7.1.3 and 7.1.4). */
import { z } from 'zod';
import { certificateFault } from '../fault.ts';
import type { AcmeAccount } from './account.ts';
import { parseJson, problemSchema } from './problems.ts';
import type { AcmeRefusal } from './session.ts';

const orderSchema = z.object({
  status: z.enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  authorizations: z.array(z.string()).min(1),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: problemSchema.optional(),
});

const challengeSchema = z.object({
  type: z.string(),
  url: z.string(),
  status: z.enum(['pending', 'processing', 'valid', 'invalid']).default('pending'),
  /** Base64url (RFC 8555, 8.3); the other challenge types may have none. */
  token: z
    .string()
    .regex(/^[\w-]{1,128}$/)
    .optional(),
  error: problemSchema.optional(),
});

const authorizationSchema = z.object({
  status: z.enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  challenges: z.array(challengeSchema),
});

/** `retryAfter`: when the server wants to be asked again; null where it did not say. */
type Seen<Kind extends string, Shape> = Shape & {
  readonly kind: Kind;
  readonly retryAfter: Date | null;
};
/** An order as the server shows it (RFC 8555, 7.1.3); `certificate` is its URL once there is one. */
export type AcmeOrder = Seen<'order', z.infer<typeof orderSchema>>;
/** An authorization as the server shows it, with its challenges (RFC 8555, 7.1.4). */
export type AcmeAuthorization = Seen<'authorization', z.infer<typeof authorizationSchema>>;

/**
 * Resolves with the order as it is now. One that the server no longer knows (404) is refused as `order_lost`. Throws
 * `ca_answer_unreadable` for another shape, and as `AcmeAccount.post`.
 */
export async function fetchOrder(
  account: AcmeAccount,
  url: string,
): Promise<AcmeOrder | AcmeRefusal> {
  const reply = await account.post({ url, payload: null });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const order = parseAs(orderSchema, reply.body);
  return { kind: 'order', ...order, retryAfter: reply.retryAfter };
}

/** As `fetchOrder`, for one of an order's authorizations. */
export async function fetchAuthorization(
  account: AcmeAccount,
  url: string,
): Promise<AcmeAuthorization | AcmeRefusal> {
  const reply = await account.post({ url, payload: null });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const authorization = parseAs(authorizationSchema, reply.body);
  return { kind: 'authorization', ...authorization, retryAfter: reply.retryAfter };
}

/** Turns a 404 into `order_lost`: what belongs to an order is lost with it. Returns any other refusal as it is. */
export function lostWhere404(refusal: AcmeRefusal): AcmeRefusal {
  return refusal.status === 404
    ? { ...refusal, problem: { ...refusal.problem, type: 'order_lost' } }
    : refusal;
}

function parseAs<Schema extends z.ZodType>(schema: Schema, body: string): z.infer<Schema> {
  const parsed = schema.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  throw certificateFault('ca_answer_unreadable', 'the authority sent something unreadable', {
    cause: parsed.error,
  });
}
