/** Which of a zone's many name servers one check queries. */

import { chunksOf } from '../../core/chunks.ts';
import { HOUR } from '../../core/time.ts';
import type { NameServer } from './reply.ts';
import { operatorOf } from './throttle.ts';

/** The same as Knot: a zone with dozens of dead servers must not use up the budget. */
export const QUERIED_MAX = 4;
/** If that many operators run the zone's servers, one of each is queried. */
const OPERATORS_MAX = 6;
/** Checks query the same servers for an hour, so that findings about one of them are stable. */
const ROTATION_MS = HOUR;

/**
 * Groups to query one after the other until a server answers. Up to four servers are one group. With
 * more, the first group has one of each operator, for up to six, and rotates every hour. `nowMs`: since 1970.
 */
export function queryOrder(
  servers: readonly NameServer[],
  nowMs: number,
): readonly (readonly NameServer[])[] {
  if (servers.length <= QUERIED_MAX) return servers.length === 0 ? [] : [servers];
  const operators = byOperator(servers);
  const rotation = Math.floor(nowMs / ROTATION_MS);
  const share = Math.ceil(QUERIED_MAX / operators.length);
  const rotated = operators.map((own) => rotate(own, rotation * share));
  // One of each operator, then a second one of each, and so on.
  const ranks = Math.max(...rotated.map((own) => own.length));
  const mixed = Array.from({ length: ranks }, (_, rank) =>
    rotate(rotated, rotation * QUERIED_MAX).flatMap((own) => own[rank] ?? []),
  ).flat();
  const first = Math.max(QUERIED_MAX, Math.min(operators.length, OPERATORS_MAX));
  return [mixed.slice(0, first), ...chunksOf(mixed.slice(first), QUERIED_MAX)];
}

/** At most one group, after those that just answered. */
export function answeringFirst(
  servers: readonly NameServer[],
  answering: ReadonlySet<string>,
  nowMs: number,
): readonly NameServer[] {
  const known = servers.filter(({ name }) => answering.has(name));
  const [first = []] = queryOrder(servers, nowMs);
  return [...known, ...first.filter((server) => !known.includes(server))];
}

function byOperator(servers: readonly NameServer[]): readonly (readonly NameServer[])[] {
  const groups = new Map<string, NameServer[]>();
  for (const server of servers) {
    const operator = operatorOf(server.name);
    groups.set(operator, [...(groups.get(operator) ?? []), server]);
  }
  return [...groups.values()];
}

function rotate<T>(list: readonly T[], by: number): readonly T[] {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
