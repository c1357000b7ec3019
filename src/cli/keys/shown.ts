/** What the command line reads of the API's keys; what a later version adds is passed over. */
import { z } from 'zod';
import { failed, type Outcome } from '../command.ts';

export const shownKey = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.nullable(z.string()),
  lastUsedAt: z.nullable(z.string()),
  successorId: z.nullable(z.string()),
  deprecatedUses: z.array(z.object({ operationId: z.string(), count: z.bigint() })),
});
export type ShownKey = z.infer<typeof shownKey>;

export const shownMintedKey = shownKey.extend({ key: z.string() });

export function notUnderstood(): Outcome {
  return failed('the service sent an answer this version doesn’t understand');
}
