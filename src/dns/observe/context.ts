import type { Config } from '../../config/config.ts';
import type { Delegation } from '../../core/diagnosis/observation.ts';
import { zoneBelow } from '../../core/names/instructions.ts';
import type { NameReply } from '../servers/aliases.ts';
import type { Authoritative } from '../servers/authoritative.ts';
import type { NameServers } from '../servers/authorities.ts';
import type { AuthorityAsker, AuthorityQuestion, Contact } from '../servers/authority.ts';
import type { Reachability } from '../servers/reachability.ts';
import type { Recursive } from '../servers/recursive.ts';
import type { NameServer } from '../servers/reply.ts';
import { recordsAt } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import {
  boundedBudget,
  type Limits,
  type QueryBudget,
  type Spent,
  spent,
  startBudget,
} from '../wire/budget.ts';
import type { Shared } from '../wire/shared.ts';

export type CheckTarget = {
  /** A-labels, lower case, no trailing dot. */
  readonly hostname: string;
  /** `startObservation` converts it to lower case. */
  readonly target: string;
  /** A name that cannot have a CNAME is diagnosed by addresses. */
  readonly apex: boolean;
  /** The delegated zone below the registrable domain, once known. */
  readonly zone?: string;
  /** The account that takes turns with others where queries have to wait. */
  readonly owner?: string;
};

/** For names above registrable domains, shared by all checks. */
type RegistryCaa = Shared<NameReply>;

/** Shared by all checks of a process. */
export type ObserverParts = {
  readonly config: Config['dns'];
  readonly recursive: Recursive;
  readonly asker: AuthorityAsker;
  readonly authorities: NameServers;
  readonly authoritative: Authoritative;
  readonly reachability: Reachability;
  /** Every CAA climb passes public suffixes. */
  readonly registryCaa: RegistryCaa;
  /** The zone of a name according to its servers' SOA records (same-servers.ts). */
  readonly zonesBySoa: Shared<string | null>;
  /** By host name: what the next light check queries (light-observation.ts). */
  readonly besideTurns: Shared<number>;
  /** PLATFORM_ADDRESSES in wire form; empty: use the target's addresses. */
  readonly platform: readonly string[];
  readonly limits: Limits;
  readonly now: () => Date;
};

/** One running check. `askServer` caches replies, so a context must not outlive its check. */
export type ObservationContext = {
  readonly parts: ObserverParts;
  readonly check: CheckTarget;
  /** For queries to authoritative servers. */
  readonly budget: QueryBudget;
  /** Includes the time reserved for falling back to resolvers. */
  readonly whole: QueryBudget;
  /** As in `Observation`. */
  readonly at: string;
  readonly cost: () => Spent;
  /**
   * Caches: a repeated query sends no message. Other queries go to the address where the server was
   * found. Rejects with RangeError for an invalid name.
   */
  readonly askServer: (
    zone: Zone,
    server: NameServer,
    question: AuthorityQuestion,
  ) => Promise<Contact>;
};

/** A server silent at both addresses must leave time for the others. */
const FIRST_WORD_MS = 4_000;

/** A zone that starts at the host name makes it an apex. Otherwise `context` itself. */
export function inZone(
  context: ObservationContext,
  delegation: Delegation | null,
): ObservationContext {
  const { check } = context;
  const below = zoneBelow({ hostname: check.hostname, delegation });
  if (below === undefined) return context;
  const apex = check.apex || below === check.hostname;
  return { ...context, check: { ...check, apex, zone: below } };
}

/** Reserved for the resolvers if authoritative servers were unreachable recently. */
const FALLBACK_MS = 2_000;

/** The check's budget starts now. Sends nothing. */
export function startObservation(parts: ObserverParts, given: CheckTarget): ObservationContext {
  const { limits, asker, reachability } = parts;
  const whole = startBudget(limits, given.owner);
  const keptMs = reachability.isBlocked() ? Math.min(FALLBACK_MS, limits.ms / 2) : 0;
  const budget = keptMs > 0 ? boundedBudget(whole, limits.ms - keptMs) : whole;
  const contacts = new Map<string, Promise<Contact>>();
  const places = new Map<string, string>();

  async function contact(zone: Zone, server: NameServer, question: AuthorityQuestion) {
    const key = `${zone.name} ${server.name}`;
    const address = places.get(key);
    if (address !== undefined) {
      return { address, reply: await asker.askAt(address, zone.name, server, question, budget) };
    }
    const bounded = boundedBudget(budget, FIRST_WORD_MS);
    const found = await asker.ask(zone.name, server, question, bounded);
    if (found.address !== null) places.set(key, found.address);
    return found;
  }

  return {
    parts,
    check: { ...given, target: given.target.toLowerCase() },
    budget,
    whole,
    at: parts.now().toISOString(),
    cost: () => spent(whole, limits),
    askServer(zone, server, question) {
      const { name, type, plain = false } = question;
      const key = `${zone.name} ${server.name} ${name} ${type} ${plain}`;
      const asked = contacts.get(key) ?? contact(zone, server, question);
      contacts.set(key, asked);
      return asked;
    },
  };
}

// Whether our own resolvers work, before a zone is blamed for their failure.

/**
 * Queries the name servers of the top-level domain, then those of another one: every resolver knows
 * these, and they reveal nothing private. At most two queries per resolver.
 */
export async function resolversWork({
  parts,
  whole,
  check: { hostname },
}: ObservationContext): Promise<boolean> {
  const topLevel = hostname.slice(hostname.lastIndexOf('.') + 1);
  for (const name of [topLevel, topLevel === 'com' ? 'org' : 'com']) {
    const { reply } = await parts.recursive.ask(name, 'NS', whole);
    if (reply.kind === 'message' && recordsAt(reply.message.answers, name, 'NS').length > 0) {
      return true;
    }
  }
  return false;
}
