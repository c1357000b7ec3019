/** Queries validating resolvers, once the zone's own servers have the right record. */
import type { SocketAddress } from '../../config/config.ts';
import { isBogus } from '../../core/diagnosis/extended-errors.ts';
import type { ExtendedError, ResolverView } from '../../core/diagnosis/observation.ts';
import { classifyRecursive, type DnsReply } from '../servers/reply.ts';
import { soaIn } from '../servers/select.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { RecordType } from '../wire/records.ts';
import type { ObservationContext } from './context.ts';
import { allOf, type NameView, viewFrom } from './server-view.ts';

/** `message`: the reply to the A query. */
export type ResolverSeen = {
  readonly resolver: SocketAddress;
  readonly reply: DnsReply;
  readonly view: ResolverView;
};

/** Two suffice to detect a resolver with an outdated cache. */
const RESOLVERS_MAX = 2;

/** In configuration order, so that observations can be compared. */
export function observeWorld(context: ObservationContext): Promise<readonly ResolverSeen[]> {
  const preferred = resolversFor(context);
  const resolvers = context.parts.recursive.servers.filter((server) => preferred.includes(server));
  return Promise.all(resolvers.map((resolver) => viewOfResolver(context, resolver)));
}

/** Prefers resolvers that answered recently. */
export function resolversFor({ parts }: ObservationContext): readonly SocketAddress[] {
  return parts.recursive.inTurn().slice(0, RESOLVERS_MAX);
}

/** DO makes the answer report DNSSEC validation (RFC 4035, 3.2.1). */
export async function viewOfResolver(
  context: ObservationContext,
  resolver: SocketAddress,
): Promise<ResolverSeen> {
  const { hostname } = context.check;
  const { answer, answersUnchecked, errors } = await askConfirmed((unchecked) =>
    askResolver(context, resolver, 'A', unchecked),
  );
  const reply = classifyRecursive(answer);
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
      answersUnchecked,
      errors,
      rttMs: reply.rttMs,
    },
  };
}

async function shownBy(
  context: ObservationContext,
  resolver: SocketAddress,
  reply: DnsReply,
): Promise<NameView> {
  if (reply.kind !== 'message') return allOf({ kind: reply.kind });
  const askAaaa = async () =>
    classifyRecursive(await askResolver(context, resolver, 'AAAA', false));
  return (await viewFrom(context.check.hostname, reply.message, askAaaa)).view;
}

type ConfirmedView = Pick<ResolverView, 'answersUnchecked' | 'errors'> & {
  readonly answer: WireAnswer;
  /** The answer with CD, if the failure was confirmed. */
  readonly unchecked?: WireAnswer;
};

/**
 * With CD, a resolver answers despite invalid signatures (RFC 4035, 3.2.2). A third query checks
 * that the failure was not temporary; without an answer, the cause stays unknown.
 */
export async function askConfirmed(
  ask: (checkingDisabled: boolean) => Promise<WireAnswer>,
): Promise<ConfirmedView> {
  const answer = await ask(false);
  const first = { answer, answersUnchecked: null, errors: errorsIn(answer) };
  if (!isServfail(answer)) return first;
  const unchecked = await ask(true);
  if (classifyRecursive(unchecked).kind !== 'message') return { ...first, answersUnchecked: false };
  const again = await ask(false);
  if (isServfail(again)) {
    const errors = bothErrors(first.errors, errorsIn(again));
    return { answer, answersUnchecked: true, errors, unchecked };
  }
  const good = classifyRecursive(again).kind === 'message';
  return good ? { answer: again, answersUnchecked: null, errors: errorsIn(again) } : first;
}

function isServfail(answer: WireAnswer): boolean {
  return answer.kind === 'response' && classifyRecursive(answer).kind === 'servfail';
}

function errorsIn(answer: WireAnswer): readonly ExtendedError[] {
  return answer.kind === 'response' ? answer.message.extendedErrors : [];
}

/** The second failure can have less detail. It counts if only it blames signatures. */
function bothErrors(
  first: readonly ExtendedError[],
  second: readonly ExtendedError[],
): readonly ExtendedError[] {
  const blames = ({ code }: ExtendedError) => isBogus(code);
  return first.some(blames) ? first : [...first, ...second.filter(blames)];
}

/** With DO; about the host name by default. `checkingDisabled` sets CD (RFC 4035, 3.2.2). */
export function askResolver(
  { parts, budget, check }: ObservationContext,
  resolver: SocketAddress,
  type: RecordType,
  checkingDisabled: boolean,
  name = check.hostname,
): Promise<WireAnswer> {
  const question = { name, type, dnssecOk: true, checkingDisabled };
  return parts.recursive.askOne(question, resolver, budget);
}
