/** Proves that we hold a name, by the http-01 challenge (RFC 8555, 7.5 and 8.3). */
import type { OrderProblem, OrderSteps, Refused } from '../authority.ts';
import type { AcmeAccount } from './account.ts';
import { keyAuthorization } from './jws.ts';
import type { Pacer } from './pacer.ts';
import { toProblem } from './problems.ts';
import { type AcmeAuthorization, fetchAuthorization } from './resources.ts';
import type { AcmeRefusal } from './session.ts';

type HttpChallenge = { readonly url: string; readonly token: string; readonly isNew: boolean };

/**
 * Answers one authorization and waits for its end: null once it is valid. Taken up again after a crash, it publishes
 * the same key authorization once more and does not tell the server twice.
 */
export async function authorize(
  account: AcmeAccount,
  url: string,
  steps: OrderSteps,
  pacer: Pacer,
): Promise<Refused | AcmeRefusal | null> {
  for (let answered = false; ; answered = true) {
    const authorization = await fetchAuthorization(account, url);
    if (authorization.kind === 'refused') return authorization;
    if (authorization.status === 'valid') return null;
    if (authorization.status !== 'pending') return refusedBecause(problemIn(authorization));
    if (!answered) {
      const refused = await answer(account, authorization, steps);
      if (refused !== null) return refused;
    }
    await pacer.wait(authorization.retryAfter);
  }
}

async function answer(
  account: AcmeAccount,
  authorization: AcmeAuthorization,
  steps: OrderSteps,
): Promise<Refused | AcmeRefusal | null> {
  const challenge = httpChallengeOf(authorization);
  if (challenge === null) {
    const detail = 'The authority offers no http-01 challenge for this name.';
    return refusedBecause({ type: 'http_challenge_not_offered', detail, retryAfter: null });
  }
  const { token } = challenge;
  await steps.publishChallenge({
    token,
    keyAuthorization: await keyAuthorization(token, await account.key()),
  });
  if (!challenge.isNew) return null;
  // An empty object, not an empty payload: "go and look" (RFC 8555, 7.5.1).
  const reply = await account.post({ url: challenge.url, payload: {} });
  return reply.kind === 'refused' ? reply : null;
}

function httpChallengeOf({ challenges }: AcmeAuthorization): HttpChallenge | null {
  const challenge = challenges.find(({ type }) => type === 'http-01');
  if (challenge?.token === undefined) return null;
  return { url: challenge.url, token: challenge.token, isNew: challenge.status === 'pending' };
}

/** The challenge's own error says more than anything above it. */
export function problemIn({ challenges }: AcmeAuthorization): OrderProblem {
  const document = challenges.find(({ error }) => error !== undefined)?.error;
  if (document !== undefined) return toProblem(document);
  const detail = 'The authorization ended without a reason.';
  return { type: 'order_invalid', detail, retryAfter: null };
}

function refusedBecause(problem: OrderProblem): Refused {
  return { kind: 'refused', problem };
}
