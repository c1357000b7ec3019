/** The climb for CAA records (RFC 8659, 3), as far as the first level that has some or cannot tell. */
import { type Answer, type CaaLevel, type CaaRecord, isConclusive } from '../core/observation.ts';
import type { Message } from './message.ts';
import { parentOf } from './name.ts';
import type { Failure } from './reply.ts';
import { ALIASES_MAX, aliasChain, answerAt } from './select.ts';

/** A server's word on the CAA records of a name. `whole`: it has followed an alias to its end itself. */
export type CaaReply =
  | { readonly kind: 'message'; readonly message: Message; readonly whole: boolean }
  | { readonly kind: 'nxdomain' }
  | Failure;

export type AskCaa = (name: string) => Promise<CaaReply>;

/** From the host name up to its top level, never the root; one question after the other, as most climbs are short. */
export async function climbForCaa(hostname: string, ask: AskCaa): Promise<readonly CaaLevel[]> {
  const levels: CaaLevel[] = [];
  for (let name = hostname; ; ) {
    const answer = await lookUpSet(name, ask);
    const parent = parentOf(name) ?? '.';
    // A top level that does not exist is a broken resolver, not permission; Boulder sees it so, too.
    const missing = parent === '.' && answer.kind === 'nxdomain';
    levels.push({ name, answer: missing ? { kind: 'servfail' } : answer });
    if (parent === '.' || answer.kind === 'records' || !isConclusive(answer)) return levels;
    name = parent;
  }
}

/**
 * The set of one level. Behind an alias it counts as the level's own, and there is no climbing from the alias's
 * target (RFC 8659, 3). A chain that is too long or a circle cannot tell.
 */
async function lookUpSet(level: string, ask: AskCaa): Promise<Answer<CaaRecord>> {
  const seen = new Set<string>();
  for (let at = level; seen.size <= ALIASES_MAX && !seen.has(at); ) {
    seen.add(at);
    const reply = await ask(at);
    if (reply.kind !== 'message') return reply;
    const chain = aliasChain(reply.message, at);
    if (chain === undefined) return { kind: 'servfail' };
    const [target] = chain;
    if (target === undefined || reply.whole) return setAt(reply.message, chain.at(-1) ?? at);
    // An authority's word ends with the alias: whoever is responsible for the target is asked about it.
    at = target;
  }
  return { kind: 'servfail' };
}

function setAt(message: Message, name: string): Answer<CaaRecord> {
  return answerAt(message, name, 'CAA', ({ flags, tag, value }) => ({ flags, tag, value }));
}
