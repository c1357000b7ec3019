/**
 * What the platform's own target resolves to: an apex can be diagnosed by its addresses only, and where addresses stand
 * in a CNAME's way it matters whether they are ours.
 */

import {
  type Answer,
  isConclusive,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { pointingOf, pointingOfAll } from '../../core/diagnosis/server-pointing.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { followAliases } from '../servers/aliases.ts';
import { textsAt } from '../servers/select.ts';
import type { Budget } from '../wire/budget.ts';
import { askRecursively, askZone } from './caa.ts';
import type { CheckTarget, ObservationContext, Parts } from './context.ts';

/**
 * Resolves with all addresses of the target: PLATFORM_ADDRESSES where they are set, else what it resolves to, sorted.
 * Empty where the A or the AAAA answer is missing, because by half a set our own addresses would count as foreign; empty
 * too where no server of a subdomain shows an address to compare with.
 */
export async function targetAddressesOf(
  context: ObservationContext,
  views: readonly ServerView[],
  recursively: boolean,
): Promise<readonly string[]> {
  const shown = views.some(({ a, aaaa }) => a.kind === 'records' || aaaa.kind === 'records');
  return context.check.apex || shown ? ownAddresses(context, recursively) : [];
}

/** Resolves with the same, whatever the name shows. */
export async function ownAddresses(
  context: ObservationContext,
  recursively = false,
): Promise<readonly string[]> {
  const { parts } = context;
  if (parts.platform.length > 0) return parts.platform;
  const answers = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => addressesBehind(context, type, recursively)),
  );
  return answers.every(isConclusive) ? answers.flatMap(recordsOf).toSorted() : [];
}

/** A resolver that hides IPv6, or sends us to a page of its own, must not decide what is foreign: the zone is asked. */
async function addressesBehind(
  { parts, budget, check }: ObservationContext,
  type: 'A' | 'AAAA',
  recursively: boolean,
): Promise<Answer<string>> {
  const ask = recursively ? askRecursively : askZone;
  const end = await followAliases(check.target, (at) => ask({ parts, budget }, at, type));
  return end.kind === 'message' ? textsAt(end.message, end.at, type) : end.failure;
}

/** What all views of a name together come to: right, wrong, or unknown. */
export function pointingOfViews(
  check: CheckTarget,
  views: readonly ServerView[],
  targetAddresses: readonly string[],
): Verdict {
  const record = recordFor(check);
  return pointingOfAll(views.map((view) => pointingOf(view, record, targetAddresses)));
}

/**
 * Resolves with the IPv4 and then the IPv6 addresses at the end of the name's aliases, as a recursive server answers.
 * Where one of the two answers is missing, those of the other. Never rejects for what the network does.
 */
export async function lookupAddresses(
  parts: Parts,
  hostname: string,
  budget: Budget,
): Promise<readonly string[]> {
  const answers = await Promise.all(
    (['A', 'AAAA'] as const).map(async (type) => {
      const end = await followAliases(hostname, (at) =>
        askRecursively({ parts, budget }, at, type),
      );
      return end.kind === 'message' ? textsAt(end.message, end.at, type) : end.failure;
    }),
  );
  return answers.flatMap((answer) => recordsOf(answer));
}
