/** One look at a host name: what its servers show and, where that is right, which CAA records apply. */
import ipaddr from 'ipaddr.js';
import type { Config } from '../config.ts';
import {
  type CaaLevel,
  type Observation,
  recordsOf,
  type ServerView,
} from '../core/observation.ts';
import { type Authoritative, createAuthoritative } from './authoritative.ts';
import { createAuthorities, registrableDomain } from './authorities.ts';
import { type Budget, defaultLimits, type Limits, startBudget } from './budget.ts';
import { type AskCaa, type CaaReply, climbForCaa } from './caa.ts';
import { isWithin } from './name.ts';
import { createRecursive, type Recursive } from './recursive.ts';
import { addressesOf, aliasChain } from './select.ts';
import { allOf, viewAfterFailure, viewFrom } from './view.ts';
import type { Wire } from './wire.ts';

export type Look = {
  /** Lower case A-labels, as core/hostname.ts gives them. */
  readonly hostname: string;
  readonly target: string;
  /** Judged by addresses, as no CNAME may stand there. */
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
  // CAA is looked up only where it decides something next: most looks end before this line.
  const right = servers.every((view) =>
    apex ? showsOnly(view, targetAddresses) : pointsTo(view, target),
  );
  return {
    hostname,
    view: authoritative ? 'authoritative' : 'recursive',
    servers,
    caa: right ? await climbForCaa(hostname, askCaaFor(parts, hostname, budget)) : null,
    targetAddresses,
  };
}

/** The first server that can tell speaks for the zone; a look at each of them belongs here. */
async function zoneViews(parts: Parts, hostname: string, budget: Budget): Promise<Views> {
  const answer = await parts.authoritative.ask(hostname, 'A', budget);
  switch (answer.kind) {
    case 'answered':
      return [await viewFrom(answer.server, hostname, answer.message, answer.askAgain)];
    case 'nxdomain':
      return [allOf(answer.server, { kind: 'nxdomain' })];
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

/** The target is the platform's own name, so a recursive server may be asked about it. */
async function addressesOfTarget(
  { platform, recursive }: Parts,
  target: string,
  budget: Budget,
): Promise<readonly string[]> {
  if (platform.length > 0) return platform;
  const name = target.toLowerCase();
  const types = ['A', 'AAAA'] as const;
  const answers = await Promise.all(types.map((type) => recursive.ask(name, type, budget)));
  const found = answers.flatMap(({ reply }) => {
    if (reply.kind !== 'message') return [];
    const end = aliasChain(reply.message, name)?.at(-1) ?? name;
    return addressesOf(reply.message.answers, end);
  });
  return found.toSorted();
}

/**
 * Levels of the customer's own domain are asked where they are published. Those above it, and alias targets outside,
 * are asked of the recursive servers.
 */
function askCaaFor(parts: Parts, hostname: string, budget: Budget): AskCaa {
  const own = registrableDomain(hostname);
  return (name) =>
    parts.config.authoritative && isWithin(name, own)
      ? askCaaOfZone(parts, name, budget)
      : askCaaRecursively(parts, name, budget);
}

/** The zone's own word. It ends with an alias, so `whole` is false. */
async function askCaaOfZone(
  { authoritative }: Parts,
  name: string,
  budget: Budget,
): Promise<CaaReply> {
  const answer = await authoritative.ask(name, 'CAA', budget);
  if (answer.kind === 'failed') return answer.tried[0].failure;
  if (answer.kind === 'nxdomain') return { kind: 'nxdomain' };
  return { kind: 'message', message: answer.message, whole: false };
}

/** A resolver follows an alias to its end. */
async function askCaaRecursively(
  { recursive }: Parts,
  name: string,
  budget: Budget,
): Promise<CaaReply> {
  const { reply } = await recursive.ask(name, 'CAA', budget);
  return reply.kind === 'message' ? { ...reply, whole: true } : reply;
}

/** One CNAME, and it is the target: "the CNAME value must match … exactly" (interface document, part 1). */
function pointsTo({ cname }: ServerView, target: string): boolean {
  const targets = recordsOf(cname);
  return targets.length === 1 && targets[0] === target.toLowerCase();
}

/** At least one address, and no foreign one: a certificate authority may try any of them. */
function showsOnly({ a, aaaa }: ServerView, ours: readonly string[]): boolean {
  const shown = [...recordsOf(a), ...recordsOf(aaaa)];
  return shown.length > 0 && shown.every((address) => ours.includes(address));
}
