/** The progress of a change in a few words, for the page and the CLI. */
import type { ChangeState, ChangeVerb, ServerChange } from './change.ts';

type ChangeProgress = {
  readonly verb: ChangeVerb;
  readonly state: ChangeState;
  readonly was?: string | undefined;
  readonly servers: readonly Pick<ServerChange, 'state'>[];
};

/** `view`: who was queried. Servers without an answer are counted apart. */
export function progressInWords(
  { verb, state, was, servers }: ChangeProgress,
  view: 'authoritative' | 'recursive',
): string {
  const noun = view === 'authoritative' ? 'name server' : 'resolver';
  const known = servers.filter((one) => one.state !== 'unknown');
  const done = known.filter((one) => one.state === 'done').length;
  const counts = { all: known.length, done, noun };
  const silent = servers.length - known.length;
  const also = known.length === 0 || silent === 0 ? '' : `; ${silent} didn’t answer`;
  return `${wordsFor({ verb, state, isProxied: verb === 'change' && was === undefined }, counts, servers.length)}${also}`;
}

type Counts = { readonly all: number; readonly done: number; readonly noun: string };

function wordsFor(
  {
    verb,
    state,
    isProxied,
  }: { readonly verb: ChangeVerb; readonly state: ChangeState; readonly isProxied: boolean },
  counts: Counts,
  servers: number,
): string {
  if (state === 'unknown') return servers === 0 ? 'Not checked yet' : 'Couldn’t check';
  if (isProxied) return 'Hidden by the proxy';
  const { all, done, noun } = counts;
  const gone = verb === 'delete' ? 'Gone from' : 'Found on';
  if (state === 'done') return all === 0 ? 'Found' : `${gone} ${everyOne(all, noun)}`;
  if (state === 'spreading') {
    return done === 0
      ? `${gone} some addresses of the ${noun}s`
      : `${gone} ${done} of ${all} ${noun}s`;
  }
  return done === 0 ? toDo[verb](everyOne(all, noun)) : lacking(verb, counts);
}

const toDo: { readonly [V in ChangeVerb]: (where: string) => string } = {
  add: () => 'Not found yet',
  change: (where) => `Old value on ${where}`,
  delete: (where) => `Still on ${where}`,
  keep: () => 'Not found yet',
};

/** For a change that some servers have and the others will not copy. */
function lacking(verb: ChangeVerb, { all, done, noun }: Counts): string {
  const where = `${all - done} of ${all} ${noun}s`;
  if (verb === 'delete') return `Still on ${where}`;
  return verb === 'change' ? `Old value on ${where}` : `Missing on ${where}`;
}

function everyOne(count: number, noun: string): string {
  if (count <= 1) return `the ${noun}${count === 0 ? 's' : ''}`;
  return count === 2 ? `both ${noun}s` : `all ${count} ${noun}s`;
}
