/** From a name to the end of its aliases, each of them asked of whoever is responsible for it. */

import type { Message } from '../wire/message.ts';
import { type Failure, failureOf } from './reply.ts';
import { ALIASES_MAX, aliasChain } from './select.ts';

/** A server's reply about a name, or why there is none. `whole`: the server has followed an alias to its end itself. */
export type NameReply =
  | { readonly kind: 'message'; readonly message: Message; readonly whole: boolean }
  | Failure;

/** Asks somebody about a name. The type of the records is the caller's choice. */
export type AskName = (name: string) => Promise<NameReply>;

/**
 * The reply about the last name of a chain, or why there is none. `at`: that name; the first one itself where it is no
 * alias, or where the chain has no end.
 */
export type ChainEnd = (
  | { readonly kind: 'message'; readonly message: Message }
  /** `endless`: the aliases lead in a circle, or through too many names. */
  | { readonly kind: 'failure'; readonly failure: Failure; readonly endless?: true }
) & { readonly at: string };

/**
 * Follows the aliases of `name`, one question after the other. A circle, and a chain of more than ALIASES_MAX, ends in
 * `servfail`: it could not tell. Rejects only where `ask` does.
 */
export async function followAliases(name: string, ask: AskName): Promise<ChainEnd> {
  const seen = new Set<string>();
  for (let at = name; seen.size <= ALIASES_MAX && !seen.has(at); ) {
    seen.add(at);
    const reply = await ask(at);
    if (reply.kind !== 'message') return { kind: 'failure', failure: failureOf(reply), at };
    const { message } = reply;
    const chain = aliasChain(message, at);
    if (chain === undefined) break;
    const [target] = chain;
    if (target === undefined || reply.whole) {
      return { kind: 'message', message, at: chain.at(-1) ?? at };
    }
    // An authority's word ends with the alias: whoever is responsible for the target is asked about it.
    at = target;
  }
  return { kind: 'failure', failure: { kind: 'servfail' }, endless: true, at: name };
}
