/** What one server shows at a host name, with as few questions as that takes. */
import type { Answer, ServerView } from '../core/observation.ts';
import type { Failure, Reply } from './reply.ts';
import { textsAt } from './select.ts';
import type { Message } from './wire/message.ts';
import type { RecordType } from './wire/records.ts';

/**
 * Reads the answer to the A question; asks for more only where it leaves something open.
 * - NXDOMAIN: nothing of any type exists (RFC 8020, 2). One question.
 * - An alias: there is nothing beside it (RFC 1034, 3.6.2). One question.
 * - Else the AAAA question is asked, too; that the A answer held no CNAME says that there is none.
 */
export async function viewFrom(
  server: string,
  hostname: string,
  message: Message,
  askAgain: (type: RecordType) => Promise<Reply>,
): Promise<ServerView> {
  const cname = textsAt(message, hostname, 'CNAME');
  const a = textsAt(message, hostname, 'A');
  if (cname.kind === 'nxdomain') return allOf(server, cname);
  if (cname.kind === 'records') return { server, cname, a, aaaa: { kind: 'nodata' } };
  const reply = await askAgain('AAAA');
  if (reply.kind !== 'message') return { server, cname, a, aaaa: reply };
  const aaaa = textsAt(reply.message, hostname, 'AAAA');
  // Where a forbidden neighbour hid the alias from the A question, it shows here.
  const alias = textsAt(reply.message, hostname, 'CNAME');
  return { server, cname: alias.kind === 'records' ? alias : cname, a, aaaa };
}

/**
 * A recursive server fails for an alias whose target cannot be resolved, although the alias itself may be right:
 * ask for just that.
 */
export async function viewAfterFailure(
  server: string,
  hostname: string,
  failure: Failure,
  askAgain: (type: RecordType) => Promise<Reply>,
): Promise<ServerView> {
  const reply = await askAgain('CNAME');
  if (reply.kind !== 'message') return allOf(server, failure);
  const cname = textsAt(reply.message, hostname, 'CNAME');
  if (cname.kind === 'nxdomain') return allOf(server, cname);
  const beside: Answer<string> = cname.kind === 'records' ? { kind: 'nodata' } : failure;
  return { server, cname, a: beside, aaaa: beside };
}

/** The same for every type. */
export function allOf(server: string, answer: Failure | { readonly kind: 'nxdomain' }): ServerView {
  return { server, cname: answer, a: answer, aaaa: answer };
}
