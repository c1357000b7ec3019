import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import {
  askAgainAt,
  certificateId,
  renewalWindow,
} from '../../core/certificates/renewal-information.ts';
import type { RenewalInformation } from '../authorities/authority.ts';
import { certificateFault } from '../fault.ts';
import { loadX509 } from '../x509.ts';
import type { AcmeAccount } from './account.ts';
import { faultOf, jsonOrUndefined, problemSchema, retryAfterOf } from './problems.ts';
import type { AcmeRefusal, AcmeSession } from './session.ts';

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
  /** Base64url (RFC 8555, 8.3); other challenge types may have none. */
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

/** `retryAfter`: null without the header. */
type Seen<Kind extends string, Shape> = Shape & {
  readonly kind: Kind;
  readonly retryAfter: Date | null;
};
/** RFC 8555, 7.1.3. `certificate`: its URL once issued. */
export type AcmeOrder = Seen<'order', z.infer<typeof orderSchema>>;
export type AcmeAuthorization = Seen<'authorization', z.infer<typeof authorizationSchema>>;

/** `order_lost` on 404. Throws `ca_answer_unreadable`, and as `AcmeAccount.post`. */
export async function fetchOrder(
  account: AcmeAccount,
  url: string,
): Promise<AcmeOrder | AcmeRefusal> {
  const reply = await account.post({ url, payload: null });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const order = parseAs(orderSchema, reply.body);
  return { kind: 'order', ...order, retryAfter: reply.retryAfter };
}

export async function fetchAuthorization(
  account: AcmeAccount,
  url: string,
): Promise<AcmeAuthorization | AcmeRefusal> {
  const reply = await account.post({ url, payload: null });
  if (reply.kind === 'refused') return lostWhere404(reply);
  const authorization = parseAs(authorizationSchema, reply.body);
  return { kind: 'authorization', ...authorization, retryAfter: reply.retryAfter };
}

/** Turns a 404 into `order_lost`, also for resources of an order. */
export function lostWhere404(refusal: AcmeRefusal): AcmeRefusal {
  return refusal.status === 404
    ? { ...refusal, problem: { ...refusal.problem, type: 'order_lost' } }
    : refusal;
}

function parseAs<Schema extends z.ZodType>(schema: Schema, body: string): z.infer<Schema> {
  const parsed = schema.safeParse(jsonOrUndefined(body));
  if (parsed.success) return parsed.data;
  throw certificateFault('ca_answer_unreadable', 'the authority sent an unreadable response', {
    cause: parsed.error,
  });
}

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const schema = z.object({
  suggestedWindow: z.object({ start: time, end: time }),
  explanationURL: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .catch(undefined),
});

/** RFC 9773, 4. Null if not offered or unknown. Throws a CertificateFault for other responses. */
export async function fetchRenewalInfo(
  session: Pick<AcmeSession, 'directory' | 'get'>,
  chain: string,
  now: () => Date,
): Promise<RenewalInformation | null> {
  const { renewalInfo } = await session.directory();
  const id = renewalInfo === undefined ? null : await certificateIdOf(chain);
  if (id === null) return null;
  const reply = await session.get(`${renewalInfo}/${id}`); // unsigned: RFC 9773, 6
  if (reply.status === 404) return null;
  if (reply.status !== 200) throw faultOf(reply, now());
  const parsed = schema.safeParse(jsonOrUndefined(reply.body));
  const window =
    parsed.success &&
    renewalWindow(parsed.data.suggestedWindow.start, parsed.data.suggestedWindow.end);
  if (!window) {
    throw certificateFault('ca_answer_unreadable', 'the response is not a renewal window', {
      cause: parsed.error,
    });
  }
  return {
    window,
    explanationUrl: parsed.data.explanationURL ?? null,
    askAgainAt: askAgainAt(now(), retryAfterOf(reply, now())),
  };
}

/** RFC 9773; null without authority key identifier. Throws `ca_answer_unreadable`. */
export async function certificateIdOf(chain: string): Promise<string | null> {
  try {
    const leaf = new X509Certificate(chain);
    // Node cannot read this extension.
    const { AuthorityKeyIdentifierExtension, X509Certificate: Readable } = await loadX509();
    const issuer = new Readable(leaf.raw).getExtension(AuthorityKeyIdentifierExtension);
    if (issuer?.keyId === undefined) return null;
    return certificateId(Buffer.from(issuer.keyId, 'hex'), Buffer.from(leaf.serialNumber, 'hex'));
  } catch (cause) {
    throw certificateFault('ca_answer_unreadable', 'the certificate cannot be read', { cause });
  }
}
