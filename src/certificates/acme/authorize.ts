/** Proves control of a name with http-01 (RFC 8555, 8.3) or tls-alpn-01 (RFC 8737). */
import type { ChallengeType, OrderProblem, OrderSteps, Refused } from '../authorities/authority.ts';
import type { AcmeAccount } from './account.ts';
import type { Pacer } from './pacer.ts';
import { plainLine, toProblem } from './problems.ts';
import { type AcmeAuthorization, fetchAuthorization } from './resources.ts';
import type { AcmeRefusal } from './session.ts';
import { keyAuthorization } from './session.ts';

type Answering = { readonly type: ChallengeType; readonly steps: OrderSteps };
/** `isNew`: validation was not requested yet. */
type Offered = { readonly url: string; readonly token: string; readonly isNew: boolean };

/**
 * Null if valid, otherwise the reason. After a crash it publishes the same key authorization again
 * and does not repeat the request. Throws `order_still_open` at the pacer's deadline.
 */
export async function authorize(
  account: AcmeAccount,
  url: string,
  answering: Answering,
  pacer: Pacer,
): Promise<Refused | AcmeRefusal | null> {
  for (let answered = false; ; answered = true) {
    const authorization = await fetchAuthorization(account, url);
    if (authorization.kind === 'refused') return authorization;
    if (authorization.status === 'valid') return null;
    if (authorization.status !== 'pending') return refusedBecause(problemIn(authorization));
    if (!answered) {
      const refused = await answer(account, url, authorization, answering);
      if (refused !== null) return refused;
    }
    await pacer.wait(authorization.retryAfter);
  }
}

async function answer(
  account: AcmeAccount,
  url: string,
  authorization: AcmeAuthorization,
  { type, steps }: Answering,
): Promise<Refused | AcmeRefusal | null> {
  const challenge = offeredOf(authorization, type);
  if (challenge === null) return refusedBecause(notOffered(authorization, type));
  const { token } = challenge;
  await steps.publishChallenge({
    type,
    token,
    keyAuthorization: await keyAuthorization(token, await account.key()),
  });
  if (!challenge.isNew) return null;
  // An empty object, not an empty payload, requests validation (RFC 8555, 7.5.1).
  const reply = await account.post({ url: challenge.url, payload: {} });
  return reply.kind === 'answer' || (await isAnswered(account, url, type)) ? null : reply;
}

/** A concurrent run has just requested validation, which must not be repeated (RFC 8555, 7.5.1). */
async function isAnswered(
  account: AcmeAccount,
  url: string,
  type: ChallengeType,
): Promise<boolean> {
  const now = await fetchAuthorization(account, url);
  if (now.kind === 'refused') return false;
  return now.status === 'valid' || offeredOf(now, type)?.isNew === false;
}

function offeredOf({ challenges }: AcmeAuthorization, wanted: ChallengeType): Offered | null {
  const challenge = challenges.find(({ type }) => type === wanted);
  if (challenge?.token === undefined) return null;
  return { url: challenge.url, token: challenge.token, isNew: challenge.status === 'pending' };
}

/** Only the configured challenge reaches the edge, so no other is tried. */
function notOffered({ challenges }: AcmeAuthorization, wanted: ChallengeType): OrderProblem {
  const offered = challenges.map(({ type }) => type).join(', ') || 'none';
  const detail = `The authority offers no ${wanted} challenge for this name. It offers: ${offered}.`;
  return { type: 'challenge_not_offered', detail: plainLine(detail), retryAfter: null };
}

/** The challenge's own error is the most specific. */
export function problemIn({ challenges }: AcmeAuthorization): OrderProblem {
  const document = challenges.find(({ error }) => error !== undefined)?.error;
  if (document !== undefined) return toProblem(document);
  const detail = 'The authorization ended without a reason.';
  return { type: 'order_invalid', detail, retryAfter: null };
}

function refusedBecause(problem: OrderProblem): Refused {
  return { kind: 'refused', problem };
}
