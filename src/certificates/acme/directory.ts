/** Where an ACME server's resources are (RFC 8555, 7.1.1). */
import { z } from 'zod';
import { certificateFault } from '../fault.ts';
import { faultOf, parseJson } from './problems.ts';
import type { Transport } from './transport.ts';

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

export type Directory = Readonly<z.infer<typeof schema>>;

/** Fetches the directory; throws `ca_unreachable`, `ca_failed` or `ca_answer_unreadable`. */
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
