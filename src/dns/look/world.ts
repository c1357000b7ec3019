/** What validating recursive servers tell everybody: asked once the zone's own servers have it right. */
import type { SocketAddress } from '../../config.ts';
import type { ResolverView } from '../../core/observation.ts';
import { judgeRecursive, type Reply } from '../ask/reply.ts';
import { soaIn } from '../ask/select.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { RecordType } from '../wire/records.ts';
import type { LookContext } from './context.ts';
import { allOf, type NameView, viewFrom } from './server-view.ts';

/** One resolver's word, and the reply to the question for A that it began with. */
export type ResolverSeen = {
  readonly resolver: SocketAddress;
  readonly reply: Reply;
  readonly view: ResolverView;
};

/** Two tell whether one is alone with what it remembers. */
const RESOLVERS_MAX = 2;

/** Each of the first configured servers, asked by itself. */
export async function lookAtWorld(context: LookContext): Promise<readonly ResolverView[]> {
  const resolvers = context.parts.recursive.servers.slice(0, RESOLVERS_MAX);
  const seen = await Promise.all(resolvers.map((resolver) => viewOfResolver(context, resolver)));
  return seen.map(({ view }) => view);
}

/** Asks with DO, so that the answer says whether the signatures are good (RFC 4035, 3.2.1). */
export async function viewOfResolver(
  context: LookContext,
  resolver: SocketAddress,
): Promise<ResolverSeen> {
  const { hostname } = context.look;
  const answer = await askResolver(context, resolver, 'A', false);
  const reply = judgeRecursive(answer);
  const message = answer.kind === 'response' ? answer.message : null;
  const shown = await shownBy(context, resolver, reply);
  return {
    resolver,
    reply,
    view: {
      server: resolver.address,
      ...shown,
      negativeTtlSeconds:
        shown.cname.kind === 'records' || reply.kind !== 'message'
          ? null
          : (soaIn(reply.message, hostname)?.negativeTtlSeconds ?? null),
      authenticated: message?.authenticData ?? false,
      answersUnchecked:
        reply.kind === 'servfail' && message !== null
          ? await answersUnchecked(context, resolver)
          : null,
      errors: message?.extendedErrors ?? [],
      rttMs: reply.rttMs,
    },
  };
}

async function shownBy(
  context: LookContext,
  resolver: SocketAddress,
  reply: Reply,
): Promise<NameView> {
  if (reply.kind !== 'message') return allOf({ kind: reply.kind });
  const askAaaa = async () => judgeRecursive(await askResolver(context, resolver, 'AAAA', false));
  return (await viewFrom(context.look.hostname, reply.message, askAaaa)).view;
}

/** With CD a resolver answers though the signatures are bad (RFC 4035, 3.2.2): then they are the reason. */
async function answersUnchecked(context: LookContext, resolver: SocketAddress): Promise<boolean> {
  return judgeRecursive(await askResolver(context, resolver, 'A', true)).kind === 'message';
}

/** One question about the host name. */
export function askResolver(
  { parts, budget, look }: LookContext,
  resolver: SocketAddress,
  type: RecordType,
  checkingDisabled: boolean,
): Promise<WireAnswer> {
  const question = { name: look.hostname, type, dnssecOk: true, checkingDisabled };
  return parts.recursive.askOne(question, resolver, budget);
}
