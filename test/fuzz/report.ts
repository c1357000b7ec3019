/** Failure texts with the octets that were sent. */
import type fc from 'fast-check';
import { type Conversation, octetsOf } from './conversation.ts';
import { escaped } from './octets.ts';
import type { FuzzedService } from './service.ts';

/** The failing conversation after shrinking. */
export function failureOf(details: fc.RunDetails<[Conversation]>): Error {
  const { counterexample, errorInstance, seed, numShrinks } = details;
  const problem = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  if (counterexample === null) return new Error(problem);
  const [smallest] = counterexample;
  const again = `SIGNPOST_FUZZ_SEED=${seed} says it again; after ${numShrinks} steps to a smaller one it is`;
  return new Error(`${problem}\n${again} this, ${inWords(smallest)}`, { cause: errorInstance });
}

/** The process crashed, so any recent conversation may be the cause. */
export function deathOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const words = service.faults().slice(-20).join('\n');
  const sent = recent.map(inWords).join('\n');
  return new Error(`the service exited:\n${words}\nafter, among others,\n${sent}`);
}

/** One of them blocked the event loop. */
export function blockOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const sent = recent.map(inWords).join('\n');
  return new Error(`${service.longTurn()}; after, among others,\n${sent}`);
}

function inWords(conversation: Conversation): string {
  const lines = conversation.messages.map(({ outcome }, index) => {
    return `  ${outcome}: ${escaped(octetsOf(conversation)[index] ?? '')}`;
  });
  return `delivered as ${JSON.stringify(conversation.delivery)}:\n${lines.join('\n')}`;
}
