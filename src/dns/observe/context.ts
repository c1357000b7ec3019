/** What all checks of a process share (`Parts`), and what the questions of one check share (`ObservationContext`). */
import type { Config } from '../../config/config.ts';
import type { Delegation } from '../../core/diagnosis/observation.ts';
import { zoneBelow } from '../../core/names/instructions.ts';
import type { NameReply } from '../servers/aliases.ts';
import type { AskServer, Authoritative } from '../servers/authoritative.ts';
import type { Authorities } from '../servers/authorities.ts';
import type { AuthorityAsker, AuthorityQuestion, Contact } from '../servers/authority.ts';
import type { Reachability } from '../servers/reachability.ts';
import type { Recursive } from '../servers/recursive.ts';
import type { NameServer } from '../servers/reply.ts';
import type { Zone } from '../servers/zone.ts';
import {
  type Budget,
  boundedBudget,
  type Limits,
  type Spent,
  spent,
  startBudget,
} from '../wire/budget.ts';
import type { Shared } from '../wire/shared.ts';

/** The name to check, and the record that it is to have. */
export type CheckTarget = {
  /** A-labels in lower case without a trailing dot, as src/core/names/hostname.ts gives them. */
  readonly hostname: string;
  /** What a CNAME must point to; `startObservation` turns it into lower case. */
  readonly target: string;
  /**
   * Whether the name is diagnosed by addresses, because no CNAME may stand there: those of the target are then asked
   * for.
   */
  readonly apex: boolean;
  /** The zone delegated below the registrable domain that the host name is in, once it is known. */
  readonly zone?: string;
};

/** The CAA replies for names above registrable domains, remembered by name and shared by all checks. */
export type RegistryCaa = Shared<NameReply>;

/** What all checks of a process share. Built once, by `createObserver`. */
export type Parts = {
  readonly config: Config['dns'];
  readonly recursive: Recursive;
  readonly asker: AuthorityAsker;
  readonly authorities: Authorities;
  readonly authoritative: Authoritative;
  readonly reachability: Reachability;
  /** Replies about public suffixes, which every climb for CAA passes. */
  readonly registryCaa: RegistryCaa;
  /** Which zone a name is in, as its servers have said (same-servers.ts). */
  readonly zonesBySoa: Shared<string>;
  /** PLATFORM_ADDRESSES in the form that addresses from the wire have; empty: whatever the target resolves to. */
  readonly platform: readonly string[];
  /** What one check may spend. */
  readonly limits: Limits;
  readonly now: () => Date;
};

/** One check under way. `askServer` remembers replies, so a context must not outlive its check. */
export type ObservationContext = {
  readonly parts: Parts;
  readonly check: CheckTarget;
  /** What the questions to authorities are paid from. */
  readonly budget: Budget;
  /** The same budget with the time that is kept back for asking the resolvers instead. */
  readonly whole: Budget;
  /** As `Observation` has them: when it began, and what it has taken so far. */
  readonly at: string;
  readonly cost: () => Spent;
  /**
   * Asks one server. The same question again gives the first reply again without a message; another question goes to the
   * address at which the server was found. Rejects with RangeError for a name that cannot be asked.
   */
  readonly askServer: AskServer;
};

/**
 * The time for a server's first reply: one that is silent at both its addresses must leave time for the rest. Our
 * choice.
 */
const FIRST_WORD_MS = 4_000;

/**
 * The context for the zone that the host name turned out to be in. Where a zone of its own begins at the host name, the
 * name is an apex like others. Returns `context` itself where no zone lies below the registrable domain.
 */
export function inZone(
  context: ObservationContext,
  delegation: Delegation | null,
): ObservationContext {
  const { hostname, target, apex } = context.check;
  const below = zoneBelow({ hostname, delegation });
  if (below === undefined) return context;
  return { ...context, check: { hostname, target, apex: apex || below === hostname, zone: below } };
}

/** Kept back for the resolvers while authorities were out of reach a moment ago; at most half of the check's time. */
const FALLBACK_MS = 2_000;

/** Starts a check; its budget runs from this call on. Sends nothing. */
export function startObservation(parts: Parts, given: CheckTarget): ObservationContext {
  const { limits, asker, reachability } = parts;
  const whole = startBudget(limits);
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
      const key = `${zone.name} ${server.name} ${question.name} ${question.type}`;
      const asked = contacts.get(key) ?? contact(zone, server, question);
      contacts.set(key, asked);
      return asked;
    },
  };
}
