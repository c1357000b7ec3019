/** Where a name leads, by the word of a recursive server: the addresses that the rest of the world goes to. */

import { recordsOf } from '../../core/observation.ts';
import { followAliases } from '../ask/aliases.ts';
import { textsAt } from '../ask/select.ts';
import type { Budget } from '../budget.ts';
import { askRecursively } from './caa.ts';
import type { Parts } from './context.ts';

/** A and AAAA at the end of the name's aliases, those of the one where the other gives no answer. */
export async function lookupAddresses(
  parts: Parts,
  hostname: string,
  budget: Budget,
): Promise<readonly string[]> {
  const answers = await Promise.all(
    (['A', 'AAAA'] as const).map(async (type) => {
      const end = await followAliases(hostname, (at) =>
        askRecursively({ parts, budget }, at, type),
      );
      return end.kind === 'message' ? textsAt(end.message, end.at, type) : end.failure;
    }),
  );
  return answers.flatMap((answer) => recordsOf(answer));
}
