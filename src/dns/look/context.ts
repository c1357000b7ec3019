/** What all looks share, and what the questions of one look share. */
import type { Config } from '../../config.ts';
import type { AuthorityAsker, AuthorityQuestion, Contact } from '../ask/authority.ts';
import { boundedBudget } from '../ask/bounded-budget.ts';
import type { Recursive } from '../ask/recursive.ts';
import type { NameServer } from '../ask/reply.ts';
import { type Budget, type Limits, type Spent, spent, startBudget } from '../budget.ts';
import type { Reachability } from '../reachability.ts';
import type { Authoritative } from '../zones/authoritative.ts';
import type { Authorities } from '../zones/authorities.ts';
import type { Zone } from '../zones/zone.ts';
import type { RegistryCaa } from './caa.ts';

export type Look = {
  /** Lower case A-labels, as core/hostname.ts gives them. */
  readonly hostname: string;
  readonly target: string;
  /** Judged by addresses, as no CNAME should stand there: those of the target are looked up. */
  readonly apex: boolean;
};

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

/** One look under way. */
export type LookContext = {
  readonly parts: Parts;
  readonly look: Look;
  readonly budget: Budget;
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

/** From here on the look's budget runs. */
export function startLook(parts: Parts, given: Look): LookContext {
  const { limits, asker } = parts;
  const budget = startBudget(limits);
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
    look: { ...given, target: given.target.toLowerCase() },
    budget,
    at: parts.now().toISOString(),
    cost: () => spent(budget, limits),
    askServer(zone, server, question) {
      const key = `${zone.name} ${server.name} ${question.name} ${question.type}`;
      const asked = contacts.get(key) ?? contact(zone, server, question);
      contacts.set(key, asked);
      return asked;
    },
  };
}
