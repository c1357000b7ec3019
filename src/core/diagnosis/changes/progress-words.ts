/** How far a change is, in a few words: for the page and the CLI. */
import type { ChangeState, ChangeVerb, ServerChange } from './change.ts';

type Progress = {
  readonly verb: ChangeVerb;
  readonly state: ChangeState;
  readonly servers: readonly Pick<ServerChange, 'state'>[];
};

/** `view`: who was queried. */
export function progressInWords(
  { verb, state, servers }: Progress,
  view: 'authoritative' | 'recursive',
): string {
  const noun = view === 'authoritative' ? 'name server' : 'resolver';
  const all = servers.length;
  if (state === 'unknown') return all === 0 ? 'Not checked yet' : 'Couldn’t check';
  if (state === 'to_do') return toDo[verb](everyOne(all, noun));
  const gone = verb === 'delete' ? 'Gone from' : 'Found on';
  if (state === 'done') return all === 0 ? 'In place' : `${gone} ${everyOne(all, noun)}`;
  const done = servers.filter((one) => one.state === 'done').length;
  return all === 0 ? `${gone} some ${noun}s` : `${gone} ${done} of ${all} ${noun}s`;
}

const toDo: { readonly [V in ChangeVerb]: (where: string) => string } = {
  add: () => 'Not found yet',
  change: (where) => `Old value on ${where}`,
  delete: (where) => `Still on ${where}`,
  keep: () => 'Not found yet',
};

function everyOne(count: number, noun: string): string {
  if (count <= 1) return `the ${noun}${count === 0 ? 's' : ''}`;
  return count === 2 ? `both ${noun}s` : `all ${count} ${noun}s`;
}
