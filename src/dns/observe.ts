/** One look at a host name: what its servers show and, where that is right, which CAA records apply. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';
import { pointingOf, pointingOfAll } from '../core/diagnosis/pointing.ts';
import { recordFor } from '../core/instructions.ts';
import {
  type Answer,
  type CaaLevel,
  isConclusive,
  type Observation,
  recordsOf,
} from '../core/observation.ts';
import { type AskName, followAliases, type NameReply } from './aliases.ts';
import { type Authoritative, createAuthoritative } from './authoritative.ts';
import { createAuthorities, registrableDomain } from './authorities.ts';
import { type Budget, defaultLimits, type Limits, startBudget } from './budget.ts';
import { climbForCaa } from './caa.ts';
import { createRecursive, type Recursive } from './recursive.ts';
import { recordsAt, textsAt } from './select.ts';
import { allOf, viewAfterFailure, viewFrom } from './view.ts';
import { isWithin } from './wire/name.ts';
import type { RecordType } from './wire/records.ts';
import type { Wire } from './wire/wire.ts';

export type Look = {
  /** Lower case A-labels, as core/hostname.ts gives them. */
  readonly hostname: string;
  readonly target: string;
  /** Judged by addresses, as no CNAME should stand there: those of the target are looked up. */
  readonly apex: boolean;
};

export type Observer = {
  /** One look. Costs at most the limits; what they cut off is a timeout. Never rejects for what the network does. */
  readonly observe: (look: Look) => Promise<Observation>;
  /** The CAA climb alone, with a budget of its own: asked once more before an order (RFC 8659, 3). */
  readonly lookupCaa: (hostname: string) => Promise<readonly CaaLevel[]>;
};

export type ObserverOptions = {
  readonly wire: Wire;
  readonly config: Config['dns'];
  /** What an apex must show; empty: whatever the target resolves to. */
  readonly platformAddresses: readonly string[];
  readonly limits?: Limits;
};

type Views = Observation['servers'];

type Parts = {
  readonly config: Config['dns'];
  readonly recursive: Recursive;
  readonly authoritative: Authoritative;
  /** In the form that addresses from the wire have. */
  readonly platform: readonly string[];
};

/** Builds what every look shares: the resolvers, the remembered zones and the platform's addresses. */
export function createObserver(options: ObserverOptions): Observer {
  const { wire, config, platformAddresses, limits = defaultLimits } = options;
  const recursive = createRecursive(wire, config.servers);
  const authorities = createAuthorities({ ...config, recursive });
  const parts: Parts = {
    config,
    recursive,
    authoritative: createAuthoritative(wire, authorities),
    platform: platformAddresses.map((address) => ipaddr.parse(address).toString()),
  };
  return {
    observe: (look) => observe(parts, look, startBudget(limits)),
    lookupCaa: (hostname) => climbForCaa(hostname, askCaaFor(parts, hostname, startBudget(limits))),
  };
}

async function observe(
  parts: Parts,
  { hostname, target, apex }: Look,
  budget: Budget,
): Promise<Observation> {
  const { authoritative } = parts.config;
  const servers = await (authoritative ? zoneViews : recursiveViews)(parts, hostname, budget);
  // Asked after the name itself: where nobody answers for that, the rest of the budget matters little.
  const targetAddresses = apex ? await addressesOfTarget(parts, target, budget) : [];
  // CAA is looked up only where it decides something next, by the judgement that `diagnose` makes: most looks end here.
  const record = recordFor({ hostname, target });
  const pointing = pointingOfAll(servers.map((view) => pointingOf(view, record, targetAddresses)));
  return {
    hostname,
    view: authoritative ? 'authoritative' : 'recursive',
    servers,
    caa:
      pointing === 'right' ? await climbForCaa(hostname, askCaaFor(parts, hostname, budget)) : null,
    targetAddresses,
  };
}

/** The first server that can tell speaks for the zone; a look at each of them belongs here. */
async function zoneViews(parts: Parts, hostname: string, budget: Budget): Promise<Views> {
  const answer = await parts.authoritative.ask(hostname, 'A', budget);
  switch (answer.kind) {
    case 'answered':
      return [await viewFrom(answer.server, hostname, answer.message, answer.askAgain)];
    case 'failed': {
      const [first, ...rest] = answer.tried;
      const failures = rest.map(({ server, failure }) => allOf(server, failure));
      return [allOf(first.server, first.failure), ...failures];
    }
  }
}

/** One resolver's view; where all fail, the first one's, which may still know the alias. */
async function recursiveViews(parts: Parts, hostname: string, budget: Budget): Promise<Views> {
  const { server, reply, askAgain } = await parts.recursive.ask(hostname, 'A', budget);
  return reply.kind === 'message'
    ? [await viewFrom(server, hostname, reply.message, askAgain)]
    : [await viewAfterFailure(server, hostname, reply, askAgain)];
}

/**
 * All addresses of the target, or none where one of the two answers is missing: by half a set, our own addresses
 * would be foreign ones at the customer's.
 */
async function addressesOfTarget(
  parts: Parts,
  target: string,
  budget: Budget,
): Promise<readonly string[]> {
  if (parts.platform.length > 0) return parts.platform;
  const types = ['A', 'AAAA'] as const;
  const answers = await Promise.all(
    types.map((type) => addressesBehind(parts, target.toLowerCase(), type, budget)),
  );
  return answers.every(isConclusive) ? answers.flatMap(recordsOf).toSorted() : [];
}

/** A resolver that hides IPv6, or sends us to a page of its own, must not decide what is foreign: the zone is asked. */
async function addressesBehind(
  parts: Parts,
  name: string,
  type: 'A' | 'AAAA',
  budget: Budget,
): Promise<Answer<string>> {
  const ask = parts.config.authoritative ? askZone : askRecursively;
  const end = await followAliases(name, (at) => ask(parts, at, type, budget));
  return end.kind === 'message' ? textsAt(end.message, end.at, type) : end;
}

/**
 * Levels of the customer's own domain and alias targets are asked where they are published. Those above it belong to
 * registries, which hardly ever have a set, and every climb ends there: they are asked of the recursive servers.
 */
function askCaaFor(parts: Parts, hostname: string, budget: Budget): AskName {
  if (!parts.config.authoritative) return (name) => askRecursively(parts, name, 'CAA', budget);
  const own = registrableDomain(hostname);
  const isAbove = (name: string) => isWithin(hostname, name) && !isWithin(name, own);
  return (name) => (isAbove(name) ? askAbove : askZone)(parts, name, 'CAA', budget);
}

/** That there is none can only permit. A set may forbid, so the registry's own servers are to confirm it. */
async function askAbove(
  parts: Parts,
  name: string,
  type: 'CAA',
  budget: Budget,
): Promise<NameReply> {
  const reply = await askRecursively(parts, name, type, budget);
  const none =
    reply.kind !== 'message' || recordsAt(reply.message.answers, name, type).length === 0;
  return none ? reply : askZone(parts, name, type, budget);
}

/** The zone's own word. It ends with an alias, so `whole` is false. */
async function askZone(
  { authoritative }: Parts,
  name: string,
  type: RecordType,
  budget: Budget,
): Promise<NameReply> {
  const answer = await authoritative.ask(name, type, budget);
  if (answer.kind === 'failed') return answer.tried[0].failure;
  return { kind: 'message', message: answer.message, whole: false };
}

/** A resolver follows an alias to its end. */
async function askRecursively(
  { recursive }: Parts,
  name: string,
  type: RecordType,
  budget: Budget,
): Promise<NameReply> {
  const { reply } = await recursive.ask(name, type, budget);
  return reply.kind === 'message' ? { ...reply, whole: true } : reply;
}
