/** Whether a server still gives its earlier answer for the host name. */
import type { DnsAnswer, ServerView } from '../../core/diagnosis/observation.ts';
import type { Contact } from '../servers/authority.ts';
import type { NameServer } from '../servers/reply.ts';
import { soaIn, textsAt } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, isSame } from './server-view.ts';

/** `nothing`: our own rate limits prevented the query. */
export type Comparison = 'same' | 'changed' | 'nothing';
/** One query for A. */
export async function compareServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  view: ServerView,
): Promise<Comparison> {
  const name = context.check.hostname;
  const first = await context.askServer(zone, server, { name, type: 'A' });
  if (!isAliasAlone(first, view)) return compareFirst(context, view, first);
  const { reply } = await context.askServer(zone, server, { name, type: 'CNAME' });
  return isSame(answerOf(reply, name, 'CNAME'), view.cname) ? 'same' : 'changed';
}

/** A failed again, and only the query for CNAME showed the alias. */
function isAliasAlone({ reply }: Contact, { state, rcode }: ServerView): boolean {
  const isFailure = reply.kind !== 'message' && reply.kind !== 'referral';
  return isFailure && state === 'answers' && reply.rcode !== null && reply.rcode === rcode;
}

function compareFirst(
  { check: { hostname } }: ObservationContext,
  view: ServerView,
  { address, reply }: Contact,
): Comparison {
  if (reply.kind === 'referral') return 'changed';
  if (reply.kind !== 'message') {
    if (reply.state === 'not_asked' || view.state === 'not_asked') return 'nothing';
    return reply.state === view.state ? 'same' : 'changed';
  }
  const { message } = reply;
  const soa = soaIn(message, hostname);
  const same =
    view.state === 'answers' &&
    address === view.address &&
    message.rcode === view.rcode &&
    isSame(textsAt(message, hostname, 'A'), view.a) &&
    isSameAlias(textsAt(message, hostname, 'CNAME'), view) &&
    (soa === null || view.soa === null || soa.serial === view.soa.serial);
  return same ? 'same' : 'changed';
}

/** With a forbidden CNAME neighbor, the alias can be visible only in the AAAA answer. */
function isSameAlias(alias: DnsAnswer<string>, { cname, a }: ServerView): boolean {
  const hidden = alias.kind === 'nodata' && cname.kind === 'records' && a.kind === 'records';
  return hidden || isSame(alias, cname);
}
