/** The target's addresses: an apex is diagnosed by them. */

import {
  type DnsAnswer,
  isConclusive,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { pointingOf, pointingOfAll } from '../../core/diagnosis/server-pointing.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { recordFor } from '../../core/names/instructions.ts';
import { followAliases } from '../servers/aliases.ts';
import { textsAt } from '../servers/select.ts';
import type { QueryBudget } from '../wire/budget.ts';
import { askRecursively, askZone } from './caa.ts';
import type { CheckTarget, ObservationContext, ObserverParts } from './context.ts';

/** Empty if the A or AAAA answer is missing, because our own addresses would look foreign. */
export async function targetAddressesOf(
  context: ObservationContext,
  views: readonly ServerView[],
  recursively: boolean,
): Promise<readonly string[]> {
  const shown = views.some(({ a, aaaa }) => a.kind === 'records' || aaaa.kind === 'records');
  return context.check.apex || shown ? lookupTarget(context, recursively) : [];
}

/** As `targetAddressesOf`, also if the host name has no addresses. */
export async function lookupTarget(
  context: ObservationContext,
  recursively = false,
): Promise<readonly string[]> {
  const { parts } = context;
  if (parts.platform.length > 0) return parts.platform;
  return addressesBehind(context, context.check.target, recursively);
}

/** After following aliases, sorted. Empty if the A or AAAA answer is missing. */
export async function addressesBehind(
  context: ObservationContext,
  name: string,
  recursively = false,
): Promise<readonly string[]> {
  const answers = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => askBehind(context, name, type, recursively)),
  );
  return answers.every(isConclusive) ? answers.flatMap(recordsOf).toSorted() : [];
}

/** At the zone: a resolver that hides IPv6 must not decide which addresses are foreign. */
async function askBehind(
  { parts, budget }: ObservationContext,
  name: string,
  type: 'A' | 'AAAA',
  recursively: boolean,
): Promise<DnsAnswer<string>> {
  const ask = recursively ? askRecursively : askZone;
  const end = await followAliases(name, (at) => ask({ parts, budget }, at, type));
  return end.kind === 'message' ? textsAt(end.message, end.at, type) : end.failure;
}

export function pointingOfViews(
  check: CheckTarget,
  views: readonly ServerView[],
  targetAddresses: readonly string[],
): Verdict {
  const record = recordFor(check);
  return pointingOfAll(views.map((view) => pointingOf(view, record, targetAddresses)));
}

/** IPv4 first, as a resolver returns them. Network failures do not reject it. */
export async function lookupAddresses(
  parts: ObserverParts,
  hostname: string,
  budget: QueryBudget,
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
