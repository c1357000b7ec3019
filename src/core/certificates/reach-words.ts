/** What an address answered, and the state of a CA, in sentences. Not escaped for HTML. */
import { type AuthorityLimit, limitInWords } from './budget.ts';
import type { AddressReach, RedirectProblem } from './reach.ts';

export type ReachExpected = {
  /** Whether our own edge can be recognized. */
  readonly isEdgeKnown: boolean;
  /** Whether our edge has a certificate for the name. */
  readonly hasCertificate: boolean;
  readonly challenge: 'http-01' | 'tls-alpn-01';
};

/** `isProblem`: someone has to act. */
export type ReachWords = { readonly summary: string; readonly isProblem: boolean };

/** Pure. */
export function reachInWords(reach: AddressReach, expected: ReachExpected): ReachWords {
  const place = subjectOf(reach);
  switch (reach.outcome) {
    case 'edge':
      return fine(`${placeOf(reach)} is our edge${via(reach)}.`);
    case 'other_answer':
      return otherAnswer(reach, expected);
    case 'refused':
      return problem(
        `${place} refuses the connection: no server listens there, or a firewall rejects it.${who(reach, expected)}`,
      );
    case 'timeout':
      return problem(
        `${place} does not answer in time: a firewall may drop the connection.${who(reach, expected)}`,
      );
    case 'no_tls':
      return isChallenged(reach, expected) || expected.hasCertificate
        ? problem(`${place} completes no TLS handshake for this name.${who(reach, expected)}`)
        : fine(`${place} has no certificate for this name yet.`);
    case 'no_http':
      return problem(`${place} answers, but not with HTTP.${who(reach, expected)}`);
    case 'bad_redirect':
      return badRedirect(reach);
    case 'no_route':
      return fine(`${place} was not queried: this machine has no route to it.`);
    case 'reserved':
      return problem(
        `${reach.address} cannot be reached from the internet, so it was not queried.`,
      );
  }
}

function badRedirect({ redirect, ...reach }: AddressReach): ReachWords {
  const { to, problem: why } = redirect ?? { to: 'nowhere', problem: 'unreadable' as const };
  return problem(
    `${placeOf(reach)} redirects to ${to}, ${redirectProblems[why]}. Turn this redirect off for /.well-known/acme-challenge/.`,
  );
}

const redirectProblems: { readonly [P in RedirectProblem]: string } = {
  too_many: 'after 10 other redirects; CAs follow no more',
  scheme: 'which is neither http nor https',
  port: 'but CAs follow redirects to ports 80 and 443 only',
  address: 'but CAs follow redirects to host names only',
  missing_slash: 'where the slash before .well-known is missing',
  unreadable: 'which is not a URL',
  unresolved: 'but that name has no address',
  not_public: 'which cannot be reached from the internet',
};

function otherAnswer(reach: AddressReach, expected: ReachExpected): ReachWords {
  const answers = `${placeOf(reach)} answers${describeAnswer(reach)}`;
  if (!expected.isEdgeKnown) {
    return fine(`${answers}. Only the service recognizes our edge.`);
  }
  const proxy = proxyOf(reach);
  const action =
    proxy === null
      ? 'Remove this address, so that the name only points here.'
      : `Turn ${proxy.header === 'via' ? 'that proxy' : `the proxy of ${proxy.name}`} off for this name, or let it pass /.well-known/acme-challenge/ on.`;
  return problem(`${answers}, which is not our edge. ${action}`);
}

/** ` with status 404 (nginx, through Cloudflare) after a redirect to …`. */
function describeAnswer(reach: AddressReach): string {
  const last = reach.answers.at(-1);
  if (last === undefined) return '';
  const proxy = proxyOf(reach);
  const by = [last.server, proxy && `through ${proxy.name}: header ${proxy.header}`];
  const known = by.filter((one) => one !== null).join(', ');
  const redirected = reach.answers.length > 1 ? ` after a redirect to ${last.url}` : '';
  return ` with status ${last.status}${known === '' ? '' : ` (${known})`}${redirected}`;
}

function via(reach: AddressReach): string {
  const proxy = proxyOf(reach);
  const through = proxy === null ? '' : `, through ${proxy.name} (header ${proxy.header})`;
  return `${through}${reach.answers.length > 1 ? ', after a redirect' : ''}`;
}

function proxyOf({ answers }: AddressReach) {
  return answers.find(({ proxy }) => proxy !== null)?.proxy ?? null;
}

/** Whether the CA comes to this port. */
function isChallenged(
  { scheme }: Pick<AddressReach, 'scheme'>,
  { challenge }: Pick<ReachExpected, 'challenge'>,
): boolean {
  return (scheme === 'http') === (challenge === 'http-01');
}

function who(reach: AddressReach, expected: ReachExpected): string {
  if (isChallenged(reach, expected)) return ' The CA connects there.';
  return reach.scheme === 'https' ? ' Visitors connect there.' : '';
}

/** `Port 80 of 192.0.2.1`, or the place that it redirects to. */
function subjectOf(reach: AddressReach): string {
  return reach.answers.length === 0
    ? placeOf(reach)
    : `${placeOf(reach)} redirects to ${reach.lastUrl}, which`;
}

function placeOf({ address, port }: Pick<AddressReach, 'address' | 'port'>): string {
  return `Port ${port} of ${address}`;
}

/** One CA in use. */
export type AuthorityReach = {
  /** Null: the local CA, which needs no network. */
  readonly directoryUrl: string | null;
  /** Null: not queried. */
  readonly directoryAnswers: boolean | null;
  /** Null: it has none that we know, or none that answered. */
  readonly statusPage: {
    readonly url: string;
    readonly status: string;
    readonly isOperational: boolean;
  } | null;
  /** The limit that our own orders have used up for this name. */
  readonly wait: {
    readonly limit: AuthorityLimit;
    readonly subject: string;
    readonly until: Date;
  } | null;
  /** Why it refused the name's latest order. */
  readonly refused: { readonly type: string; readonly detail: string } | null;
};

/** Pure. */
export function authorityInWords(authority: AuthorityReach): ReachWords {
  const { directoryUrl, directoryAnswers, statusPage, wait, refused } = authority;
  if (directoryUrl === null) return fine('This installation issues the certificates itself.');
  const host = new URL(directoryUrl).host;
  const problems = [
    directoryAnswers === false && `${host} does not answer.`,
    statusPage?.isOperational === false &&
      `Its status page says “${statusPage.status}” (${statusPage.url}).`,
    wait && `No new order before ${wait.until.toISOString()}: it allows ${limitInWords(wait)}.`,
    refused && `It refused the latest order (${refused.type}): “${refused.detail}”`,
  ].filter((one) => typeof one === 'string');
  return problems.length === 0 ? fine(`${host} answers.`) : problem(problems.join(' '));
}

function fine(summary: string): ReachWords {
  return { summary, isProblem: false };
}

function problem(summary: string): ReachWords {
  return { summary, isProblem: true };
}
