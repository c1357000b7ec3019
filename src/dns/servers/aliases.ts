/** From a name to the end of its aliases, each of them asked of whoever may tell. */

import type { Message } from '../wire/message.ts';
import { type Failure, failureOf } from './reply.ts';
import { ALIASES_MAX, aliasChain } from './select.ts';

/** A server's word about a name. `whole`: it has followed an alias to its end itself. */
export type NameReply =
  | { readonly kind: 'message'; readonly message: Message; readonly whole: boolean }
  | Failure;

export type AskName = (name: string) => Promise<NameReply>;

/**
 * The word about the last name of a chain, or why there is none. `at`: that name; the first one itself where it is no
 * alias, or the chain has no end.
 */
export type ChainEnd = (
  | { readonly kind: 'message'; readonly message: Message }
  | { readonly kind: 'failure'; readonly failure: Failure }
) & { readonly at: string };

/** A chain that is too long or a circle cannot tell. */
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
  return { kind: 'failure', failure: { kind: 'servfail' }, at: name };
}
