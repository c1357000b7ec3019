/** A check that only uses the configured resolvers, if the zone's own servers cannot be queried. */
import type { Nearby, Observation, ServerView } from '../../core/diagnosis/observation.ts';
import { NO_RESOLVER } from '../servers/recursive.ts';
import { classifyRecursive, noReply } from '../servers/reply.ts';
import { textsAt } from '../servers/select.ts';
import { climbAsIfPointed } from './caa-of-check.ts';
import type { ObservationContext } from './context.ts';
import { aliasIn, followChain, nothingNearby } from './nearby.ts';
import { resolversWork } from './own-resolvers.ts';
import { allOf, answering, noReplyView, nothingMore } from './server-view.ts';
import { observeFailedLevels } from './signatures.ts';
import { targetAddressesOf } from './target.ts';
import { askResolver, type ResolverSeen, viewOfResolver } from './world.ts';

/**
 * In order until one answers. If all fail, the view is the first one's, which can still contain the
 * alias. Network failures do not reject it.
 */
export async function observeRecursively(
  context: ObservationContext,
  why: NonNullable<Observation['whyRecursive']>,
): Promise<Observation> {
  const world: ResolverSeen[] = [];
  for (const resolver of context.parts.recursive.inTurn()) {
    const seen = await viewOfResolver(context, resolver);
    world.push(seen);
    if (seen.reply.kind === 'message') break;
  }
  const speaker = world.find(({ reply }) => reply.kind === 'message') ?? world[0];
  const view = speaker ? await serverView(context, speaker) : noResolver;
  const isKnown = view.cname.kind === 'records' || view.state === 'answers';
  // After the name itself: if that has no answer, the remaining budget does not matter.
  const targetAddresses = await targetAddressesOf(context, [view], true);
  const caa = isKnown ? await climbAsIfPointed(context, null) : null;
  const signatures = await observeFailedLevels(context, caa ?? []);
  const isFailure = !isKnown && view.cname.kind === 'servfail';
  return {
    hostname: context.check.hostname,
    at: context.at,
    view: 'recursive',
    whyRecursive: why,
    delegation: null,
    servers: [view],
    world: world.map((seen) => seen.view),
    nearby: { ...nothingNearby, chain: await chainIn(context, speaker) },
    caa,
    ...(signatures.length > 0 && { signatures }),
    targetAddresses,
    ...(isFailure && { resolversWork: await resolversWork(context) }),
    cost: context.cost(),
  };
}

async function serverView(
  context: ObservationContext,
  { resolver, reply, view }: ResolverSeen,
): Promise<ServerView> {
  const { address } = resolver;
  if (reply.kind === 'message') {
    const { cname, a, aaaa } = view;
    return { server: address, address, ...answering(reply), cname, a, aaaa, ...nothingMore };
  }
  const failure = noReplyView(address, address, reply);
  // A query fails if the alias target cannot be resolved, even if the alias is right.
  const again = classifyRecursive(await askResolver(context, resolver, 'CNAME', false));
  if (again.kind !== 'message') return failure;
  const cname = textsAt(again.message, context.check.hostname, 'CNAME');
  if (cname.kind === 'nxdomain') return { ...failure, ...allOf(cname) };
  const beside = cname.kind === 'records' ? ({ kind: 'nodata' } as const) : failure.a;
  return { ...failure, cname, a: beside, aaaa: beside };
}

/** Resolvers follow aliases to the end, so no query is needed. */
async function chainIn(
  context: ObservationContext,
  speaker: ResolverSeen | undefined,
): Promise<Nearby['chain']> {
  if (speaker?.reply.kind !== 'message') return null;
  const { message } = speaker.reply;
  const { cname } = speaker.view;
  const alias = aliasIn({ cname }, context.check.target);
  if (alias === undefined) return null;
  return followChain(context, alias, message, async () => ({
    kind: 'message',
    message,
    whole: true,
  }));
}

/** For a host without any resolver. */
const noResolver: ServerView = noReplyView(NO_RESOLVER, null, noReply('servfail'));
