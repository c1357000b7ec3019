/**
 * Validation beyond the host name. A CA validates every answer of the CAA climb, also negative ones, and
 * signatures can be bad while the record is wrong.
 */
import type { SocketAddress } from '../../config/config.ts';
import {
  type CaaLevel,
  isConclusive,
  recordsOf,
  type ServerView,
  type ValidationView,
} from '../../core/diagnosis/observation.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { classifyRecursive, type DnsReply } from '../servers/reply.ts';
import { aliasChain, answerAt } from '../servers/select.ts';
import { registrableDomain, type Zone } from '../servers/zone.ts';
import { boundedBudget, isSpent } from '../wire/budget.ts';
import type { Message } from '../wire/message.ts';
import { isWithin } from '../wire/name.ts';
import type { ObservationContext } from './context.ts';
import { askConfirmed, askResolver, type ResolverSeen, resolversFor } from './world.ts';

type Known = {
  readonly zone: Zone;
  readonly pointing: Verdict;
  readonly views: readonly ServerView[];
  readonly world: Promise<readonly ResolverSeen[]>;
  readonly caa: Promise<readonly CaaLevel[]>;
};

/** A resolver that cannot reach the zone takes seconds to say so, which must not delay the check. */
const PATIENCE_MS = 3_000;

/** The type of a signature (RFC 4034, 3). */
const RRSIG = 46;

/**
 * While the record is wrong, queries the zone's SOA record: a resolver would cache a negative answer, also
 * for the host name (RFC 8198). If the zone is signed and the host name exists, queries CAA at the levels
 * of the climb, as long as these validate.
 */
export async function observeSignatures(
  context: ObservationContext,
  { zone, pointing, views, world, caa }: Known,
): Promise<readonly ValidationView[]> {
  if (pointing === 'unknown') return [];
  if (pointing === 'right') {
    const seen = await world;
    return seen.some((one) => isSigned(context, one)) ? validateLevels(context, await caa) : [];
  }
  const { all, signed } = await validate(patient(context), zone.name, 'SOA');
  if (!signed || !views.every(isThere)) return all;
  return [...all, ...(await validateLevels(context, await caa))];
}

function patient(context: ObservationContext): ObservationContext {
  return { ...context, budget: boundedBudget(context.budget, PATIENCE_MS) };
}

/** Queries the CAA levels at which resolvers failed again, with and without validation. */
export function observeFailedLevels(
  context: ObservationContext,
  caa: readonly CaaLevel[],
): Promise<readonly ValidationView[]> {
  return validateAll(
    context,
    ownLevels(context, caa).filter(({ answer }) => answer.kind === 'servfail'),
  );
}

/** At the same resolver. */
export async function stillFails(
  context: ObservationContext,
  { server, name, type }: ValidationView,
): Promise<boolean> {
  const resolver = context.parts.recursive.servers.find(({ address }) => address === server);
  if (resolver === undefined) return false;
  const answer = await askResolver(context, resolver, type, false, name);
  return classifyRecursive(answer).kind === 'servfail';
}

function validateLevels(context: ObservationContext, caa: readonly CaaLevel[]) {
  return validateAll(
    context,
    ownLevels(context, caa).filter(({ answer }) => isConclusive(answer)),
  );
}

/** Without the target's and the registries' levels. */
function ownLevels({ check: { hostname, apex } }: ObservationContext, caa: readonly CaaLevel[]) {
  const domain = registrableDomain(hostname);
  return caa.filter(({ name }) => isWithin(name, domain) && (apex || name !== hostname));
}

async function validateAll(
  context: ObservationContext,
  levels: readonly CaaLevel[],
): Promise<readonly ValidationView[]> {
  const views: ValidationView[] = [];
  const bounded = patient(context);
  for (const { name } of levels) {
    const { all } = await validate(bounded, name, 'CAA');
    views.push(...all);
    if (!all.some(({ outcome }) => isAnswer(outcome))) break;
  }
  return views;
}

/** One resolver after the other until one answers. `signed`: it validated signatures. */
async function validate(
  context: ObservationContext,
  name: string,
  type: ValidationView['type'],
): Promise<{ readonly all: readonly ValidationView[]; readonly signed: boolean }> {
  const all: ValidationView[] = [];
  for (const resolver of resolversFor(context)) {
    if (isSpent(context.budget)) break;
    const { view, message } = await validateAt(context, resolver, name, type);
    all.push(view);
    if (message !== null) return { all, signed: message.authenticData };
  }
  return { all, signed: false };
}

async function validateAt(
  context: ObservationContext,
  resolver: SocketAddress,
  name: string,
  type: ValidationView['type'],
): Promise<{ readonly view: ValidationView; readonly message: Message | null }> {
  const { answer, answersUnchecked, errors, unchecked } = await askConfirmed((disabled) =>
    askResolver(context, resolver, type, disabled, name),
  );
  const reply = classifyRecursive(answer);
  const about = { server: resolver.address, name, type, answersUnchecked, errors };
  const outcome = outcomeOf(reply, name, type);
  const view = unchecked
    ? { ...about, outcome, unchecked: outcomeOf(classifyRecursive(unchecked), name, type) }
    : { ...about, outcome };
  return { view, message: reply.kind === 'message' ? reply.message : null };
}

/** At the end of an alias. */
function outcomeOf(reply: DnsReply, name: string, type: ValidationView['type']) {
  if (reply.kind !== 'message') return reply.kind;
  const at = aliasChain(reply.message, name)?.at(-1) ?? name;
  return answerAt(reply.message, at, type, () => null).kind;
}

function isAnswer(kind: ValidationView['outcome']): boolean {
  return kind === 'records' || kind === 'nodata' || kind === 'nxdomain';
}

/** It validated, or the answer has signatures of the customer: of an alias to an unsigned target. */
function isSigned({ check }: ObservationContext, { view, reply }: ResolverSeen): boolean {
  if (view.authenticated) return true;
  const domain = registrableDomain(check.hostname);
  return (
    reply.kind === 'message' &&
    reply.message.answers.some(
      (record) =>
        record.type === 'OTHER' && record.typeCode === RRSIG && isWithin(record.name, domain),
    )
  );
}

/** Without records, resolvers could conclude from a signed denial that the name does not exist (RFC 8198). */
function isThere({ state, cname, a, aaaa }: ServerView): boolean {
  return state !== 'answers' || [cname, a, aaaa].some((answer) => recordsOf(answer).length > 0);
}
