/** Whether DNSSEC validation and the CAA records are unchanged. */
import {
  type CaaLevel,
  isConclusive,
  type Observation,
  type ResolverView,
} from '../../core/diagnosis/observation.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { classifyRecursive } from '../servers/reply.ts';
import type { Zone } from '../servers/zone.ts';
import { levelAgain } from './caa-of-check.ts';
import type { ObservationContext } from './context.ts';
import { isSame } from './server-view.ts';
import { stillFails } from './signatures.ts';
import { askResolver } from './world.ts';

/**
 * Repeats queries with bad signatures. If the record was right, DNSSEC or CAA was the problem, so it
 * repeats those too. `pointing`: of the previous observation.
 */
export async function isSameBeyond(
  context: ObservationContext,
  zone: Zone,
  previous: Observation,
  pointing: Verdict,
): Promise<boolean> {
  const { parts } = context;
  const rejected = previous.signatures?.filter(({ outcome }) => outcome === 'servfail') ?? [];
  if (rejected.length > 0) {
    const again = await Promise.all(rejected.map((one) => stillFails(context, one)));
    if (again.includes(false)) return false;
  }
  if (pointing !== 'right') return true;
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
  return !still.includes(false) && (await areSameLevels(context, zone, previous.caa ?? []));
}

/** The deciding level and closer ones, where a new set takes precedence. Skips the platform's. */
async function areSameLevels(
  context: ObservationContext,
  zone: Zone,
  caa: readonly CaaLevel[],
): Promise<boolean> {
  const { hostname, apex } = context.check;
  const last = caa.findLastIndex(decides);
  const levels = caa
    .slice(0, last + 1)
    .filter((level, at) => at === last || apex || level.name !== hostname);
  const same = await Promise.all(
    levels.map(async (level) => {
      const again = await levelAgain(context, level, zone);
      // A failure can occur at a different name of the chain each time.
      const moved = again.answer.kind === 'records' && again.publishedAt !== level.publishedAt;
      return !moved && isSame(again.answer, level.answer) && isSameByServer(again, level);
    }),
  );
  return !same.includes(false);
}

function isSameByServer(
  { servers: now = [] }: CaaLevel,
  { servers: before = [] }: CaaLevel,
): boolean {
  return (
    now.length === before.length &&
    before.every(({ server, answer }) =>
      now.some((one) => one.server === server && isSame(one.answer, answer)),
    )
  );
}

/** A SERVFAIL can be caused by DNSSEC. Silence and refusals are the resolver's own problem. */
function fails({ a }: ResolverView): boolean {
  return a.kind === 'servfail';
}

function decides({ answer, servers }: CaaLevel): boolean {
  return servers !== undefined || answer.kind === 'records' || !isConclusive(answer);
}

/** A right record, answers of resolvers, and no CAA set or failure. */
export function wasWell(previous: Observation, pointing: Verdict): boolean {
  return (
    pointing === 'right' &&
    (!previous.world.some(fails) || previous.world.some(({ a }) => isConclusive(a))) &&
    !previous.signatures?.some(({ outcome }) => outcome === 'servfail') &&
    !previous.caa?.some(decides)
  );
}
