/** The climb for CAA records (RFC 8659, 3), as far as the first level that has some or cannot tell. */
import { type Answer, type CaaLevel, type CaaRecord, isConclusive } from '../core/observation.ts';
import { type AskName, followAliases } from './aliases.ts';
import { answerAt } from './select.ts';
import { parentOf } from './wire/name.ts';

/** From the host name up to its top level, never the root; one question after the other, as most climbs are short. */
export async function climbForCaa(hostname: string, ask: AskName): Promise<readonly CaaLevel[]> {
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
 * target (RFC 8659, 3).
 */
async function lookUpSet(level: string, ask: AskName): Promise<Answer<CaaRecord>> {
  const end = await followAliases(level, ask);
  if (end.kind !== 'message') return end;
  return answerAt(end.message, end.at, 'CAA', ({ flags, tag, value }) => ({ flags, tag, value }));
}
