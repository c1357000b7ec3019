/** Which of a zone's many name servers one check asks. */
import type { NameServer } from './reply.ts';
import { operatorOf } from './throttle.ts';

/** How many servers of a zone are asked, as at Knot: one that lists dozens of dead ones must not use up the budget. */
export const SERVERS_MAX = 4;
/** As many more where they have that many operators. Our choice. */
const OPERATORS_MAX = 6;
/** For so long every check asks the same of many servers: findings about one of them do not come and go. Our choice. */
const TURN_MS = 60 * 60_000;

/**
 * Returns the servers in groups, to be asked one group after the other until somebody answers. Up to four are one group,
 * in their order. Of more, each operator has one in the first group if there are no more than six operators, and every
 * hour it is others' turn; `nowMs` is on the clock of Date.now().
 */
export function inTurns(
  servers: readonly NameServer[],
  nowMs: number,
): readonly (readonly NameServer[])[] {
  if (servers.length <= SERVERS_MAX) return servers.length === 0 ? [] : [servers];
  const operators = byOperator(servers);
  const turn = Math.floor(nowMs / TURN_MS);
  const share = Math.ceil(SERVERS_MAX / operators.length);
  const rotated = operators.map((own) => rotatedBy(own, turn * share));
  // One of each operator, then a second one of each, and so on.
  const ranks = Math.max(...rotated.map((own) => own.length));
  const mixed = Array.from({ length: ranks }, (_, rank) =>
    rotatedBy(rotated, turn * SERVERS_MAX).flatMap((own) => own[rank] ?? []),
  ).flat();
  const first = Math.max(SERVERS_MAX, Math.min(operators.length, OPERATORS_MAX));
  const rest = mixed.slice(first);
  const others = Array.from({ length: Math.ceil(rest.length / SERVERS_MAX) }, (_, group) =>
    rest.slice(group * SERVERS_MAX, (group + 1) * SERVERS_MAX),
  );
  return [mixed.slice(0, first), ...others];
}

function byOperator(servers: readonly NameServer[]): readonly (readonly NameServer[])[] {
  const groups = new Map<string, NameServer[]>();
  for (const server of servers) {
    const operator = operatorOf(server.name);
    groups.set(operator, [...(groups.get(operator) ?? []), server]);
  }
  return [...groups.values()];
}

function rotatedBy<T>(list: readonly T[], by: number): readonly T[] {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
