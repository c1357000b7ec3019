/** Places an order (RFC 8555, 7.4), of a profile, and as the successor of a certificate (RFC 9773, 5). */
import type { OrderSteps } from '../authorities/authority.ts';
import { certificateFault } from '../fault.ts';
import type { AcmeAccount, AcmeSettings } from './account.ts';
import { certificateIdOf } from './renewal-info.ts';
import type { AcmeRefusal, AcmeReply, Directory } from './session.ts';

export type NewOrder = {
  readonly hostname: string;
  /** PEM of the certificate that this one is to replace; null for a first one. */
  readonly predecessor: string | null;
  /** Null: the authority's default. */
  readonly profile: string | null;
  /** Whose setting the profile is; ACME unless told. */
  readonly settings?: AcmeSettings | undefined;
};

/**
 * The new order's URL. A crash before the caller has kept it leaves an order that nobody takes up; it costs nothing and
 * expires (ACME has no client's order id to look for). Throws `ca_misconfigured` where there is no such profile.
 */
export async function placeOrder(
  account: AcmeAccount,
  directory: Directory,
  { hostname, predecessor, profile, settings = 'ACME' }: NewOrder,
  { beforePlacing }: Pick<OrderSteps, 'beforePlacing'>,
): Promise<string | AcmeRefusal> {
  if (profile !== null) requireProfile(directory, profile, settings);
  const order = {
    identifiers: [{ type: 'dns', value: hostname }],
    ...(profile === null ? {} : { profile }), // draft-ietf-acme-profiles, 4
  };
  const replaces = await replacedBy(directory, predecessor);
  const place = (payload: object) => account.post({ url: directory.newOrder, payload });
  const reply = replaces === null ? await place(order) : await place({ ...order, replaces });
  if (replaces === null || !mayBeForItsPredecessor(reply)) return urlOf(reply);
  await beforePlacing('plain');
  return urlOf(await place(order));
}

/** An authority that does not know profiles would ignore one without a word. */
function requireProfile({ meta }: Directory, profile: string, settings: AcmeSettings): void {
  const offered = Object.keys(meta?.profiles ?? {});
  if (offered.includes(profile)) return;
  const list = offered.length === 0 ? 'no profiles' : offered.join(', ');
  const message = `${settings}_PROFILE is ${profile}, but the certificate authority offers ${list}`;
  throw certificateFault('ca_misconfigured', message);
}

/** The field is for servers that offer renewal information (RFC 9773, 5). */
async function replacedBy({ renewalInfo }: Directory, predecessor: string | null) {
  return renewalInfo === undefined || predecessor === null ? null : certificateIdOf(predecessor);
}

/**
 * `alreadyReplaced`; or the predecessor is another authority's, or an earlier account's, which servers word as they
 * like. The field is a courtesy: without it the order is an ordinary one. A limit holds for both.
 */
function mayBeForItsPredecessor(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type !== 'rate_limited';
}

function urlOf(reply: AcmeReply): string | AcmeRefusal {
  if (reply.kind === 'refused') return reply;
  if (reply.location !== null) return reply.location;
  throw certificateFault('ca_answer_unreadable', 'the new order has no URL');
}
