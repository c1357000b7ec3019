/** Whether one server shows at the host name what it showed before. */
import type { Answer, ServerView } from '../../core/diagnosis/observation.ts';
import type { Contact } from '../servers/authority.ts';
import type { NameServer } from '../servers/reply.ts';
import { soaIn, textsAt, zoneBySoa } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { ObservationContext } from './context.ts';
import type { oneOf } from './light-beside.ts';
import { answerOf, isSame } from './server-view.ts';

/** `nothing`: our own limits kept us from asking, so it says nothing. */
export type Comparison = 'same' | 'changed' | 'nothing';

/** What was asked of a server, and what it showed before. */
type Asked = ReturnType<typeof oneOf>;

/** Compares a server's contact about its first question with its view of before; asks once more where that view took another question. */
export function compareServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  view: ServerView,
  first: Asked,
  contact: Contact,
): Comparison | Promise<Comparison> {
  return isAliasAlone(view, contact)
    ? compareAlias(context, zone, server, view)
    : compareFirst(context, zone, view, first, contact);
}

/** The server failed for A, then as now, and showed its alias to whoever asked for that alone. */
function isAliasAlone({ state, rcode }: ServerView, { reply }: Contact): boolean {
  const fails = reply.kind === 'servfail' && reply.state === 'servfail';
  return fails && state === 'answers' && rcode === reply.rcode;
}

async function compareAlias(
  { check: { hostname }, askServer }: ObservationContext,
  zone: Zone,
  server: NameServer,
  view: ServerView,
): Promise<Comparison> {
  const { reply } = await askServer(zone, server, { name: hostname, type: 'CNAME' });
  return isSame(answerOf(reply, hostname, 'CNAME'), view.cname) ? 'same' : 'changed';
}

function compareFirst(
  { check: { hostname } }: ObservationContext,
  zone: Zone,
  view: ServerView,
  [type, before]: Asked,
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
    // A zone may have begun, or ended, at the same servers.
    (zoneBySoa(message, hostname) ?? zone.name) === zone.name &&
    isSame(textsAt(message, hostname, type), before) &&
    isSameAlias(textsAt(message, hostname, 'CNAME'), view) &&
    (soa === null || view.soa === null || soa.serial === view.soa.serial);
  return same ? 'same' : 'changed';
}

/** Beside a forbidden neighbour the alias may have been seen with the AAAA answer only, which is asked for then. */
function isSameAlias(alias: Answer<string>, { cname, a }: ServerView): boolean {
  const hidden = alias.kind === 'nodata' && cname.kind === 'records' && a.kind === 'records';
  return hidden || isSame(alias, cname);
}
