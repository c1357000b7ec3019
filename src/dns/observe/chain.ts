/** Where an alias leads that is not the target: to explain what is wrong, so a few names are enough. */
import type { Nearby } from '../../core/diagnosis/observation.ts';
import type { NameReply } from '../servers/aliases.ts';
import { recordsAt } from '../servers/select.ts';
import type { Message } from '../wire/message.ts';
import type { LookContext } from './context.ts';

export type Chain = NonNullable<Nearby['chain']>;

/** Names kept of a chain, as `Nearby` has it. */
const NAMES_MAX = 8;

/**
 * Follows `alias`, first by the records of the message that it came with, then by whoever is responsible for each
 * name. A circle ends with the name that comes again, be it the host name.
 */
export async function followChain(
  { look }: LookContext,
  alias: string,
  first: Message,
  ask: (name: string) => Promise<NameReply>,
): Promise<Chain> {
  const names: string[] = [];
  let message = first;
  for (let at: string | undefined = alias; at !== undefined; at = aliasAt(message, at)) {
    const again = at === look.hostname || names.includes(at);
    names.push(at);
    const end = again ? 'loop' : endAt(at, names.length, look.target);
    if (end !== undefined) return { names, end };
    const word = hasWord(message, at) ? { kind: 'message' as const, message } : await ask(at);
    if (word.kind !== 'message') return { names, end: 'unknown' };
    message = word.message;
  }
  return { names, end: 'elsewhere' };
}

function endAt(name: string, length: number, target: string): 'target' | 'unknown' | undefined {
  if (name === target) return 'target';
  return length >= NAMES_MAX ? 'unknown' : undefined;
}

function aliasAt(message: Message, name: string): string | undefined {
  return recordsAt(message.answers, name, 'CNAME')[0]?.target;
}

function hasWord(message: Message, name: string): boolean {
  return message.answers.some((record) => record.name === name);
}
