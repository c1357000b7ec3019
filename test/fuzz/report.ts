/** What a failure says: the octets that were sent, to be read and to be sent again. */
import type fc from 'fast-check';
import { type Conversation, octetsOf } from './conversation.ts';
import { escaped } from './octets.ts';
import type { FuzzedService } from './service.ts';

/** Which conversation goes wrong, as small as it could be made. */
export function failureOf(details: fc.RunDetails<[Conversation]>): Error {
  const { counterexample, errorInstance, seed, numShrinks } = details;
  const problem = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  if (counterexample === null) return new Error(problem);
  const [smallest] = counterexample;
  const again = `SIGNPOST_FUZZ_SEED=${seed} says it again; after ${numShrinks} steps to a smaller one it is`;
  return new Error(`${problem}\n${again} this, ${inWords(smallest)}`, { cause: errorInstance });
}

/** The dead cannot be asked which one it was. */
export function deathOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const words = service.faults().slice(-20).join('\n');
  const sent = recent.map(inWords).join('\n');
  return new Error(`the service has ended:\n${words}\nafter it heard, among others,\n${sent}`);
}

/** One of them kept it busy, and everybody else waiting. */
export function blockOf(service: FuzzedService, recent: readonly Conversation[]): Error {
  const sent = recent.map(inWords).join('\n');
  return new Error(`${service.longTurn()}; it had heard, among others,\n${sent}`);
}

function inWords(conversation: Conversation): string {
  const lines = conversation.messages.map(({ outcome }, index) => {
    return `  ${outcome}: ${escaped(octetsOf(conversation)[index] ?? '')}`;
  });
  return `delivered as ${JSON.stringify(conversation.delivery)}:\n${lines.join('\n')}`;
}
