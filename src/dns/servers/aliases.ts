import type { Message } from '../wire/message.ts';
import { type Failure, failureOf } from './reply.ts';
import { ALIASES_MAX, aliasChain } from './select.ts';

/** `whole`: the server followed aliases to the end. */
export type NameReply =
  | { readonly kind: 'message'; readonly message: Message; readonly whole: boolean }
  | Failure;

export type AskName = (name: string) => Promise<NameReply>;

/** `at`: the last name; the first if it is not an alias or the chain has no end. */
export type ChainEnd = (
  | { readonly kind: 'message'; readonly message: Message }
  /** `endless`: a loop, or a chain that is too long. */
  | { readonly kind: 'failure'; readonly failure: Failure; readonly endless?: true }
) & { readonly at: string };

/** Loops and chains over ALIASES_MAX end in `servfail`. Rejects only if `ask` does. */
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
    // An authoritative reply stops at the alias; the target's own servers are queried next.
    at = target;
  }
  return { kind: 'failure', failure: { kind: 'servfail' }, endless: true, at: name };
}
