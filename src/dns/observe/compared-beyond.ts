/** Whether what lies beyond the record is as it was: what resolvers make of the zone, and the CAA sets. */
import {
  type CaaLevel,
  isConclusive,
  type Observation,
  type ResolverView,
} from '../../core/diagnosis/observation.ts';
import { classifyRecursive } from '../servers/reply.ts';
import type { Zone } from '../servers/zone.ts';
import { levelAgain } from './caa-of-check.ts';
import type { ObservationContext } from './context.ts';
import { isSame } from './server-view.ts';
import { failsStill } from './signatures.ts';
import { pointingOfViews } from './target.ts';
import { askResolver } from './world.ts';

/**
 * Bad signatures of the zone are asked for again, whatever the record was. Where that was right, it was DNSSEC or CAA that
 * was not: what decided is asked again.
 */
export async function isSameBeyond(
  context: ObservationContext,
  previous: Observation,
  zone: Zone,
): Promise<boolean> {
  const { check, parts } = context;
  const { signatures = [] } = previous;
  const fail = await Promise.all(
    signatures
      .filter(({ outcome }) => outcome === 'servfail')
      .map((one) => failsStill(context, one)),
  );
  if (fail.includes(false)) return false;
  if (pointingOfViews(check, previous.servers, previous.targetAddresses) !== 'right') return true;
  const failing = previous.world.filter(fails);
  const still = await Promise.all(
    failing.map(async ({ server }) => {
      const resolver = parts.recursive.servers.find(({ address }) => address === server);
      if (resolver === undefined) return false;
      return (
        classifyRecursive(await askResolver(context, resolver, 'A', false)).kind === 'servfail'
      );
    }),
  );
  return !still.includes(false) && (await areSameLevels(context, previous.caa ?? [], zone));
}

/** The level that decides, and those nearer, where a set would decide in its place; but not the platform's own. */
async function areSameLevels(
  context: ObservationContext,
  caa: readonly CaaLevel[],
  zone: Zone,
): Promise<boolean> {
  const { hostname, apex } = context.check;
  const last = caa.findLastIndex(decides);
  const levels = caa
    .slice(0, last + 1)
    .filter((level, at) => at === last || apex || level.name !== hostname);
  const same = await Promise.all(
    levels.map(async (level) => {
      const again = await levelAgain(context, level, zone);
      // A failure may meet us at another name of the chain each time.
      const moved = again.answer.kind === 'records' && again.publishedAt !== level.publishedAt;
      return !moved && isSame(again.answer, level.answer) && saySame(again, level);
    }),
  );
  return !same.includes(false);
}

/** Each server says what it said before, where they differ. */
function saySame({ servers: now = [] }: CaaLevel, { servers: before = [] }: CaaLevel): boolean {
  return (
    now.length === before.length &&
    before.every(({ server, answer }) =>
      now.some((one) => one.server === server && isSame(one.answer, answer)),
    )
  );
}

/** Perhaps because of signatures; silence and refusals are the resolver's own, and blame nobody. */
function fails({ a }: ResolverView): boolean {
  return a.kind === 'servfail';
}

/** A set at some server, or none for want of an answer. */
function decides({ answer, servers }: CaaLevel): boolean {
  return servers !== undefined || answer.kind === 'records' || !isConclusive(answer);
}

/** Nothing about it blocked: a right record, answers of the world, and no CAA set or failure. */
export function wasWell({ check }: ObservationContext, previous: Observation): boolean {
  return (
    pointingOfViews(check, previous.servers, previous.targetAddresses) === 'right' &&
    (!previous.world.some(fails) || previous.world.some(({ a }) => isConclusive(a))) &&
    !previous.signatures?.some(({ outcome }) => outcome === 'servfail') &&
    !previous.caa?.some(decides)
  );
}
