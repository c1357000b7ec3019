/**
 * The names that workers watch between checks: which servers are asked for A, and what each showed last, as a digest.
 * Where an answer has another digest, the name's check is brought forward; only a check says what it means.
 */
import {
  type Answer,
  type Delegation,
  isConclusive,
  type Observation,
  type ServerView,
} from '../diagnosis/observation.ts';

/** The states in which a name is watched: those in which a change of its DNS moves it. */
export const watchedStatuses = ['pending', 'live', 'drifted'] as const;
export type WatchedStatus = (typeof watchedStatuses)[number];

/** A name server that showed something at the name. `digest`: 0 to 2³² − 1, of what it showed (`digestOf`). */
export type WatchedServer = {
  readonly server: string;
  readonly address: string;
  readonly digest: number;
};

/** A domain as it is watched. `since`: when its present state began, or its window, in ms since 1970. */
export type WatchedName = {
  readonly id: string;
  readonly epoch: number;
  readonly hostname: string;
  readonly status: WatchedStatus;
  readonly since: number;
  readonly servers: readonly WatchedServer[];
};

/** What an answer to the question for A shows. */
export type Shown = { readonly rcode: number } & Pick<ServerView, 'cname' | 'a'>;

/**
 * Returns the servers of an observation that can be watched: those that answered with something about the name. None where
 * only resolvers were asked: their answers are as old as the TTL allows.
 */
export function watchedServersOf({ view, servers }: Observation): readonly WatchedServer[] {
  if (view !== 'authoritative') return [];
  return servers.flatMap(({ server, address, state, rcode, cname, a }) => {
    if (state !== 'answers' || address === null || rcode === null) return [];
    const digest = digestOf({ rcode, cname, a });
    return digest === null ? [] : [{ server, address, digest }];
  });
}

/**
 * Returns the digest of an answer: of its RCODE and its A records, or, where it has none, its alias or that there is
 * nothing. TTLs and the order of records do not count. Null for an answer that says nothing about the name.
 */
export function digestOf({ rcode, cname, a }: Shown): number | null {
  if (!isConclusive(a) || !isConclusive(cname)) return null;
  return hash(`${rcode} ${a.kind === 'records' ? textOf('A', a) : textOf('CNAME', cname)}`);
}

/** Returns the digest of whom a domain is delegated to, by its registry: of the name servers, or that there are none. */
export function digestOfDelegation(delegation: Delegation): number {
  const { kind, zone } = delegation;
  const servers = kind === 'delegated' ? delegation.atParent : [];
  return hash([kind, zone, ...servers].join(' '));
}

function textOf(type: 'A' | 'CNAME', answer: Answer<string>): string {
  return answer.kind === 'records' ? `${type} ${answer.records.toSorted().join(' ')}` : answer.kind;
}

/** FNV-1a with 32 bits, of UTF-16 code units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  return value >>> 0;
}

/** Writes the servers as they are stored: `ns1.example.net 192.0.2.1 811c9dc5`, one after the other with `;` between. */
export function formatWatchedServers(servers: readonly WatchedServer[]): string {
  return servers
    .map(({ server, address, digest }) => `${server} ${address} ${digest.toString(16)}`)
    .join(';');
}

/** Reads what `formatWatchedServers` wrote. What cannot be read, as of a later version, is left out. */
export function parseWatchedServers(text: string): readonly WatchedServer[] {
  return text.split(';').flatMap((part) => {
    const [server = '', address = '', hex = ''] = part.split(' ');
    const digest = Number.parseInt(hex, 16);
    return server === '' || address === '' || Number.isNaN(digest)
      ? []
      : [{ server, address, digest }];
  });
}
