/** What all checks share, and what the questions of one check share. */
import type { Config } from '../../config/config.ts';
import type { Delegation } from '../../core/diagnosis/observation.ts';
import { zoneBelow } from '../../core/names/instructions.ts';
import type { NameReply } from '../servers/aliases.ts';
import type { Authoritative } from '../servers/authoritative.ts';
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

export type CheckTarget = {
  /** Lower case A-labels, as core/hostname.ts gives them. */
  readonly hostname: string;
  readonly target: string;
  /** Judged by addresses, as no CNAME should stand there: those of the target are looked up. */
  readonly apex: boolean;
  /** The zone delegated below the registrable domain that the host name is in, once it is known. */
  readonly zone?: string;
};

/** What registries' own names have, by name. */
export type RegistryCaa = Shared<NameReply>;

/** One for the whole process. */
export type Parts = {
  readonly config: Config['dns'];
  readonly recursive: Recursive;
  readonly asker: AuthorityAsker;
  readonly authorities: Authorities;
  readonly authoritative: Authoritative;
  readonly reachability: Reachability;
  readonly registryCaa: RegistryCaa;
  /** In the form that addresses from the wire have. */
  readonly platform: readonly string[];
  readonly limits: Limits;
  readonly now: () => Date;
};

/** One check under way. */
export type ObservationContext = {
  readonly parts: Parts;
  readonly check: CheckTarget;
  readonly budget: Budget;
  /** The same with the time that is kept back for another way. */
  readonly whole: Budget;
  /** As `Observation` has them: when it began, and what it has taken so far. */
  readonly at: string;
  readonly cost: () => Spent;
  /** Asks one server; the same question again gives the first answer again, and goes where the server was found. */
  readonly askServer: (
    zone: Zone,
    server: NameServer,
    question: AuthorityQuestion,
  ) => Promise<Contact>;
};

/** For a server's first word: one that is silent at both its addresses must leave time for the rest. Our choice. */
const FIRST_WORD_MS = 4_000;

/**
 * The same look in the zone that the host name turned out to be in. Where a zone of its own begins at the host name, it
 * is an apex like others.
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

/** From here on the check's budget runs. */
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
