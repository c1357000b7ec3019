/** What an address of a host name answered, and how its certificate authority is, in sentences for a person. */
import { type AuthorityLimit, limitInWords } from './budget.ts';
import type { AddressReach, BadRedirect } from './reach.ts';

/** What the answers are judged by. */
export type ReachExpected = {
  /** Whether the name is attached here, so that our edge has to answer for it. */
  readonly isAttached: boolean;
  /** Where the authority asks. */
  readonly challenge: 'http-01' | 'tls-alpn-01';
};

/** A sentence for a person, and whether it is a problem; not escaped for HTML. Pure. */
export function reachInWords(
  reach: AddressReach,
  expected: ReachExpected,
): { readonly summary: string; readonly isProblem: boolean } {
  const { end } = reach;
  switch (end.outcome) {
    case 'edge':
      return fine(`${placeOf(reach)} is our edge${through(reach)}.`);
    case 'other_answer':
      return answered(reach, expected);
    case 'refused':
      return problem(
        `${placeOf(reach)} refuses the connection: nothing listens there, or a firewall is in the way.${need(reach, expected)}`,
      );
    case 'timeout':
      return problem(
        `${placeOf(reach)} doesn’t answer in time: a firewall may drop the connection.${need(reach, expected)}`,
      );
    case 'no_tls':
      return isAsked(reach, expected)
        ? problem(`${placeOf(reach)} completes no TLS handshake for this name.`)
        : fine(
            `${placeOf(reach)} completes no TLS handshake for this name: it has no certificate there yet.`,
          );
    case 'no_http':
      return problem(`${placeOf(reach)} answers, but not with HTTP.${need(reach, expected)}`);
    case 'bad_redirect':
      return problem(
        `${placeOf(reach)} redirects to ${end.to}, ${whyBad[end.reason]}: let /.well-known/acme-challenge/ through without a redirect.`,
      );
    case 'no_route':
      return fine(`${placeOf(reach)} can’t be asked from here: this machine has no route to it.`);
    case 'reserved':
      return problem(
        `${reach.address} is an address that nobody on the internet can reach; we didn’t ask it.`,
      );
  }
}

const whyBad: { readonly [R in BadRedirect]: string } = {
  too_many: 'after 10 redirects before it, and authorities follow no more',
  scheme: 'which is neither http nor https',
  port: 'and authorities follow redirects to ports 80 and 443 only',
  address: 'and authorities follow redirects to host names only',
  glued: 'where a slash is missing before .well-known',
  unreadable: 'which is no URL',
  unresolved: 'whose host name has no address',
  not_public: 'which nobody on the internet can reach',
};

function answered(reach: AddressReach, { isAttached, challenge }: ReachExpected) {
  const words = `${placeOf(reach)} answers${asWhom(reach)}`;
  // At the other port a deploy may answer, through our edge: that cannot be told apart from outside.
  if (!isAsked(reach, { challenge }) || !isAttached) return fine(`${words}.`);
  return problem(`${words}; that isn’t our edge.${remedyFor(reach)}`);
}

function remedyFor({ answers }: AddressReach): string {
  const proxy = answers.find((one) => one.proxy !== null)?.proxy;
  return proxy
    ? ` Turn ${proxy.name}’s proxy off for this name, or have it pass /.well-known/acme-challenge/ on.`
    : ' Point the record at us alone, and remove this address.';
}

/** `, with status 404 (nginx, through Cloudflare)` of the last answer. */
function asWhom(reach: AddressReach): string {
  const last = reach.answers.at(-1);
  if (last === undefined) return '';
  const about = [...(last.server === null ? [] : [last.server]), ...passedOn(reach)];
  const redirected = reach.answers.length > 1 ? ` after a redirect to ${last.url}` : '';
  return ` with status ${last.status}${about.length > 0 ? ` (${about.join(', ')})` : ''}${redirected}`;
}

function through(reach: AddressReach): string {
  const [by] = passedOn(reach);
  const redirect = reach.answers.length > 1 ? ', after a redirect' : '';
  return by === undefined ? redirect : `, ${by}${redirect}`;
}

function passedOn({ answers }: AddressReach): readonly string[] {
  const proxy = answers.find((one) => one.proxy !== null)?.proxy;
  return proxy ? [`through ${proxy.name}, by its field ${proxy.field}`] : [];
}

function isAsked({ scheme }: AddressReach, { challenge }: Pick<ReachExpected, 'challenge'>) {
  return (scheme === 'http') === (challenge === 'http-01');
}

/** Who comes to this port. */
function need(reach: AddressReach, expected: ReachExpected): string {
  if (isAsked(reach, expected)) return ' The certificate authority asks here.';
  return reach.scheme === 'https' ? ' Visitors come here.' : '';
}

function placeOf({ address, port }: AddressReach): string {
  return `Port ${port} of ${address}`;
}

function fine(summary: string) {
  return { summary, isProblem: false };
}

function problem(summary: string) {
  return { summary, isProblem: true };
}

/** One authority in use, as it was found just now. */
export type AuthorityReach = {
  /** Null: the local one, which nobody has to reach. */
  readonly directoryUrl: string | null;
  /** Whether its directory answered; null: it was not asked. */
  readonly isAnswering: boolean | null;
  /** What its status page says; null: it has none that we know, or that answered. */
  readonly statusPage: {
    readonly url: string;
    readonly status: string;
    readonly isOperational: boolean;
  } | null;
  /** A limit of it that our own orders have used up for this name; null: none, or the name is not attached. */
  readonly wait: {
    readonly limit: AuthorityLimit;
    readonly subject: string;
    readonly until: Date;
  } | null;
  /** How it refused the name's newest order; null: it did not. */
  readonly refused: {
    readonly type: string;
    readonly detail: string;
    /** RFC 3339: it wants no order before then. */
    readonly retryAfter?: string;
  } | null;
};

/** What to know of an authority before its next order; not escaped for HTML. Pure. */
export function authorityInWords(authority: AuthorityReach): {
  readonly summary: string;
  readonly isProblem: boolean;
} {
  const { directoryUrl, isAnswering, statusPage, wait, refused } = authority;
  if (directoryUrl === null) return fine('Certificates come from this installation itself.');
  const host = new URL(directoryUrl).host;
  const problems = [
    ...(isAnswering === false ? [`${host} doesn’t answer.`] : []),
    ...(statusPage?.isOperational === false
      ? [`Its status page says “${statusPage.status}” (${statusPage.url}).`]
      : []),
    ...(wait
      ? [`No new order before ${wait.until.toISOString()}: it allows ${limitInWords(wait)}.`]
      : []),
    ...(refused ? [`It refused the last order (${refused.type}): “${refused.detail}”`] : []),
  ];
  const [first] = problems;
  return first === undefined ? fine(`${host} answers.`) : problem(problems.join(' '));
}
