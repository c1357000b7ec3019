/** The progress of a change, server by server. */
import type { Observation, ServerView } from '../observation.ts';
import { isUnasked, speaksForZone } from '../server-pointing.ts';
import { showing } from '../shows.ts';
import { foreign, foreignName } from '../words.ts';
import type { ChangeState, DnsChange, ServerChange } from './change.ts';

/** All addresses of one name server. */
export type NamedServer = { readonly name: string; readonly views: readonly ServerView[] };

/** Servers that were not queried are left out, unless none was. */
export function namedServers(observation: Observation | null): readonly NamedServer[] {
  const views = observation?.servers ?? [];
  const asked = views.filter(({ state }) => !isUnasked(state));
  const chosen = asked.length > 0 ? asked : views;
  const names = [...new Set(chosen.map(({ server }) => server))];
  return names.map((name) => ({ name, views: chosen.filter(({ server }) => server === name) }));
}

/** The answers that count. */
export function answersOf<A>(
  servers: readonly NamedServer[],
  answerOf: (view: ServerView) => A,
): readonly A[] {
  const views = servers.flatMap((server) => server.views);
  return views.filter(({ state }) => speaksForZone(state)).map(answerOf);
}

/** Whether one view has the change. Null: its answers do not say. */
export type HasChange = (view: ServerView) => boolean | null;

/** One address without the change is enough to keep a server behind: resolvers can query any. */
export function spread(
  servers: readonly NamedServer[],
  has: HasChange,
): Pick<DnsChange, 'state' | 'servers'> {
  const said = servers.map(({ views }) =>
    views.map((view) => (speaksForZone(view.state) ? has(view) : null)),
  );
  const shown = servers.map(({ name, views }, at): ServerChange => {
    const own = said[at] ?? [];
    const decisive = views[own.indexOf(false)] ?? views[own.indexOf(true)] ?? views[0];
    return {
      name: foreign(name),
      state: stateAt(own),
      shows: decisive === undefined ? '' : foreignName(showing(decisive)),
    };
  });
  const states = said.flat().map((one) => ({ state: stateAt([one]) }));
  return { state: stateOf(states), servers: shown };
}

function stateAt(said: readonly (boolean | null)[]): ServerChange['state'] {
  if (said.includes(false)) return 'to_do';
  return said.includes(true) ? 'done' : 'unknown';
}

/** Servers without a usable answer do not count. */
export function stateOf(servers: readonly Pick<ServerChange, 'state'>[]): ChangeState {
  const known = servers.filter(({ state }) => state !== 'unknown');
  if (known.length === 0) return 'unknown';
  if (known.every(({ state }) => state === 'done')) return 'done';
  return known.some(({ state }) => state === 'done') ? 'spreading' : 'to_do';
}
