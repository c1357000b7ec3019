/** The zone's servers and its delegation: who should answer for the host name, and who does. */

import { reservedRange } from '../names/reserved-addresses.ts';
import type { Finding, Outcome, Unasked } from './findings.ts';
import { byText, type Look, unique } from './look.ts';
import { recordsOf, type ServerState, type ServerView } from './observation.ts';
import { foreignErrors } from './world-checks.ts';

/** Listed for the zone, and does not know it. */
const lame: ReadonlySet<ServerState> = new Set([
  'refused',
  'not_authoritative',
  'servfail',
  'malformed',
]);
const unreachable: ReadonlySet<ServerState> = new Set([
  'timeout',
  'no_address',
  'reserved_address',
]);

/** Nobody has registered the domain: there is nothing that a record could stand in. */
export function domainUnregistered({ observation, expected }: Look): Finding | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'unregistered') return undefined;
  const { zone: domain, parent: registry } = delegation;
  return { code: 'domain_unregistered', hostname: expected.hostname, domain, registry };
}

/** The answer of a server that does not have the zone; a failure of our own network looks otherwise. */
const declining: ReadonlySet<ServerState> = new Set(['refused', 'not_authoritative']);

/**
 * Servers that decline, or fail, while another one answers. Where none does, only those that say that they do not have
 * the zone: it may have been deleted there.
 */
export function nameServerLame(look: Look): Finding | undefined {
  return misbehaving('name_server_lame', isTold(look) ? lame : declining, look);
}

/** Servers that cannot be reached, while another one answers. */
export function nameServerUnreachable(look: Look): Finding | undefined {
  // Where no server tells, our own network may be the reason, and dns_unknown says all that is known.
  return isTold(look) ? misbehaving('name_server_unreachable', unreachable, look) : undefined;
}

/** The zone above names other servers than the zone itself: a move to another provider that was not finished. */
export function delegationMismatch({ observation, expected }: Look): Finding | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'delegated') return undefined;
  const { zone, parent, atParent, atZone } = delegation;
  // An empty list is no answer: a zone has at least one server, and was delegated to one.
  if (atZone === null || atZone.length === 0 || atParent.length === 0) return undefined;
  const onlyAtParent = unique(atParent.filter((name) => !atZone.includes(name)));
  const onlyAtZone = unique(atZone.filter((name) => !atParent.includes(name)));
  if (onlyAtParent.length + onlyAtZone.length === 0) return undefined;
  const { hostname } = expected;
  return { code: 'delegation_mismatch', hostname, zone, parent, onlyAtParent, onlyAtZone };
}

/** Addresses that nobody on the internet can reach, at the name or of a name server. Never our own. */
export function reservedAddress(look: Look): Finding | undefined {
  const { hostname, allowPrivate } = look.expected;
  if (allowPrivate || look.unregistered) return undefined;
  const atName = look.servers
    .filter(({ pointing }) => pointing.kind !== 'unknown' && pointing.kind !== 'incomparable')
    .flatMap(({ view }) => [...recordsOf(view.a), ...recordsOf(view.aaaa)])
    .filter((address) => !look.isOwn(address))
    .flatMap((address) => {
      const range = reservedRange(address);
      return range === null ? [] : { at: hostname, address, range };
    });
  const all = new Map(
    [...atName, ...ofServers(look)].map((entry) => [`${entry.at} ${entry.address}`, entry]),
  );
  if (all.size === 0) return undefined;
  const addresses = [...all.values()].sort(byText(({ at, address }) => `${at} ${address}`));
  return { code: 'reserved_address', hostname, addresses };
}

/**
 * Where no server could tell. Where servers told and we cannot compare, it is the platform's own target that we could
 * not look up.
 */
export function dnsUnknown(look: Look): Finding | undefined {
  if (look.pointing !== 'unknown' || look.unregistered) return undefined;
  const { hostname, target } = look.expected;
  const aboutTarget = look.servers.some(({ pointing }) => pointing.kind === 'incomparable');
  if (aboutTarget) return { code: 'dns_unknown', hostname: target, servers: [] };
  const { view, world } = look.observation;
  const errors = view === 'recursive' ? foreignErrors(world) : [];
  const servers = silentServers(look);
  return { code: 'dns_unknown', hostname, servers, ...(errors.length === 0 ? {} : { errors }) };
}

/** Whether any server says where the name points. */
function isTold({ servers }: Look): boolean {
  return servers.some(({ pointing }) => pointing.kind !== 'unknown');
}

/** A server of several addresses is fine if it answers at one of them. */
function misbehaving(
  code: 'name_server_lame' | 'name_server_unreachable',
  states: ReadonlySet<ServerState>,
  { observation, expected, zone, unregistered }: Look,
): Finding | undefined {
  if (observation.view !== 'authoritative' || unregistered) return undefined;
  const answering = new Set(
    observation.servers.filter(({ state }) => state === 'answers').map(({ server }) => server),
  );
  const found = observation.servers.filter(
    ({ server, state }) => states.has(state) && !answering.has(server),
  );
  if (found.length === 0) return undefined;
  const servers = distinct(found.map(({ server, state }) => ({ server, outcome: state })));
  return { code, hostname: expected.hostname, zone, servers };
}

/** Of a server that was not asked nothing is known, so it is named only where there is no other. */
function silentServers({
  servers,
}: Look): readonly { readonly server: string; readonly outcome: Outcome | Unasked }[] {
  const told = (wanted: (view: ServerView) => boolean) =>
    servers.flatMap(({ view, pointing }) =>
      pointing.kind === 'unknown' && wanted(view)
        ? { server: view.server, outcome: unasked(view.state) ?? pointing.outcome }
        : [],
    );
  const asked = told(({ state }) => state !== 'not_asked');
  return distinct(asked.length > 0 ? asked : told(() => true));
}

function unasked(state: ServerState): Unasked | undefined {
  return state === 'no_address' || state === 'reserved_address' || state === 'not_asked'
    ? state
    : undefined;
}

function ofServers({ observation }: Look) {
  return observation.servers
    .filter(({ state }) => state === 'reserved_address')
    .map(({ server, address }) => ({
      at: server,
      address,
      range: (address === null ? null : reservedRange(address)) ?? 'reserved',
    }));
}

function distinct<T extends { readonly server: string; readonly outcome: string }>(
  list: readonly T[],
): readonly T[] {
  const keyOf = ({ server, outcome }: T) => `${server} ${outcome}`;
  return [...new Map(list.map((item) => [keyOf(item), item])).values()].sort(byText(keyOf));
}
