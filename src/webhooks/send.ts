/**
 * One attempt over HTTP: to an address that was checked before and no other, without redirects, 10 s and 64 KiB in all.
 * Nothing of the answer leaves this file but its status and how long it asks to be left alone.
 */
import type { LookupAddress } from 'node:dns';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIPv6, type LookupFunction, type Socket } from 'node:net';
import type { Answer } from '../core/operations/webhook-plan.ts';
import { addressesOf, type Lookup, type ReceiverRules, urlProblem } from '../net/destination.ts';
import { createKeyedCount } from '../net/keyed-count.ts';

/** A signed message on its way. Content type, length and user agent are added to the headers. */
export type Outgoing = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Where messages may go, and how long an attempt may take. */
export type SenderDeps = ReceiverRules & {
  readonly lookup: Lookup;
  /** Whether an address may be connected to. */
  readonly isAllowed: (address: string) => boolean;
  /** Root certificates in PEM to trust instead of the usual ones. */
  readonly trust?: string;
  /** For the whole attempt, from the look-up to the end of the answer; 10 s unless given. */
  readonly timeoutMs?: number;
};

/** Makes one attempt. Resolves whatever the receiver does; rejects only for faults of our own. */
export type Send = (outgoing: Outgoing) => Promise<Answer>;

/** Standard Webhooks suggests 15 to 30 s; our choice is less, because a receiver is to note the message and answer. */
const TIMEOUT_MS = 10_000;
/** The connection is closed after so much of an answer's body; its status counts all the same. */
const ANSWER_BYTES_MAX = 65_536;

type Problem = Extract<Answer, { kind: 'unanswered' }>['problem'];

/** Each attempt resolves the name again and opens a connection of its own. */
export function createSender(deps: SenderDeps): Send {
  return async (outgoing) => {
    if (urlProblem(outgoing.url, deps) !== null) return unanswered('url_refused');
    const url = new URL(outgoing.url);
    const late = AbortSignal.timeout(deps.timeoutMs ?? TIMEOUT_MS);
    const addresses = await within(late, addressesOf(url, deps.lookup));
    if (addresses === 'late') return unanswered('timed_out');
    if (addresses === 'untold') return unanswered('name_not_told');
    if (addresses.length === 0) return unanswered('name_not_resolved');
    // All of them must be allowed, because whichever answers first is connected to.
    if (!addresses.every(({ address }) => deps.isAllowed(address))) {
      return unanswered('address_refused');
    }
    return post(deps, { url, addresses, outgoing, late });
  };
}

type Attempt = {
  readonly url: URL;
  readonly addresses: readonly LookupAddress[];
  readonly outgoing: Outgoing;
  readonly late: AbortSignal;
};

function post(deps: SenderDeps, { url, addresses, outgoing, late }: Attempt): Promise<Answer> {
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    agent: false, // a connection of its own, or another host's vetted one might be taken
    headers: {
      ...outgoing.headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(outgoing.body),
      'user-agent': 'Signpost-Webhooks/1.0',
    },
    lookup: always(addresses),
    signal: late,
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(deps.trust !== undefined && { ca: deps.trust }),
  });
  return new Promise((resolve) => {
    let reached: 'nothing' | 'host' | 'receiver' | 'refused' = 'nothing';
    request.on('socket', (socket: Socket) => {
      // These listeners are set before the request is written: nothing is sent to an address that was not checked.
      socket.once('connect', () => {
        reached = isSecure ? 'host' : 'receiver';
        if (isVetted(socket, addresses, deps)) return;
        reached = 'refused';
        request.destroy();
      });
      socket.once('secureConnect', () => {
        reached = 'receiver';
      });
    });
    const problem = (): Problem => {
      if (reached === 'refused') return 'address_refused';
      if (late.aborted) return 'timed_out';
      return reached === 'host' ? 'tls_failed' : 'connection_failed';
    };
    settle(request, (response) =>
      resolve(response === null ? unanswered(problem()) : answered(response)),
    );
    request.end(outgoing.body);
  });
}

/** Calls once: with the answer, whether its body came to an end or not, or with null where none came. */
function settle(request: ClientRequest, done: (response: IncomingMessage | null) => void): void {
  let answer: IncomingMessage | null = null;
  request.once('response', (response) => {
    answer = response;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) response.destroy();
    });
    response.on('error', () => {}); // broken off: its status has come all the same
  });
  request.on('error', () => {}); // 'close' follows
  request.once('close', () => done(answer));
}

function answered({ statusCode = 0, headers }: IncomingMessage): Answer {
  return { kind: 'answered', status: statusCode, retryAfter: headers['retry-after'] ?? null };
}

function unanswered(problem: Problem): Answer {
  return { kind: 'unanswered', problem };
}

/** Gives a socket the addresses that were checked; the name is not resolved a second time. */
function always(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, { all }, give) => {
    const [first = { address: '', family: 0 }] = addresses;
    if (all === true) give(null, [...addresses]);
    else give(null, first.address, first.family);
  };
}

/** Whether a socket leads to an address that was checked; `lookup` is not called for a literal address, this always is. */
function isVetted(
  { remoteAddress }: Socket,
  addresses: readonly LookupAddress[],
  { isAllowed }: SenderDeps,
): boolean {
  if (remoteAddress === undefined || !isAllowed(remoteAddress)) return false;
  const vetted = new BlockList();
  for (const { address, family } of addresses) {
    vetted.addAddress(address, family === 6 ? 'ipv6' : 'ipv4');
  }
  return vetted.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
}

/** `untold`: the look-up failed, which does not say that there is no address. `late`: the attempt's time is over. */
async function within(
  late: AbortSignal,
  found: Promise<readonly LookupAddress[]>,
): Promise<readonly LookupAddress[] | 'late' | 'untold'> {
  return new Promise((resolve) => {
    const give = () => resolve('late');
    late.addEventListener('abort', give, { once: true });
    found
      .then(resolve, () => resolve('untold'))
      .finally(() => late.removeEventListener('abort', give));
  });
}

/** Call it when the attempt is over; again, it does nothing. */
export type Leave = () => void;

/** Counts what is under way for each key of this process. */
export type Lines = {
  /** Takes a place; null where all of `places` are taken. Never waits: a worker that did would be missing elsewhere. */
  enter(key: string, places: number): Leave | null;
  /**
   * Takes one of the places that all share; null where the key would then have more of them than are left. So one that is
   * alone has half of them, of several that want all each has as many as stay free, and who had none finds one.
   */
  enterShare(key: string): Leave | null;
};

/** `shared`: the places that all share. Keys without anything under way take no memory. */
export function createLines(shared: number): Lines {
  const perKey = Number.POSITIVE_INFINITY;
  const underWay = createKeyedCount({ total: perKey, perKey });
  const shares = createKeyedCount({ total: shared, perKey });
  let taken = 0;
  return {
    enter: (key, places) => leaveOf(underWay.admit(key, places)),
    enterShare(key) {
      // With this one the key has one more, and one fewer is left.
      const leave = leaveOf(shares.admit(key, shared - taken - 1));
      if (leave === null) return null;
      taken += 1;
      let hasLeft = false;
      return () => {
        if (!hasLeft) taken -= 1;
        hasLeft = true;
        leave();
      };
    },
  };
}

function leaveOf(admitted: Leave | 'key' | 'total'): Leave | null {
  return typeof admitted === 'function' ? admitted : null;
}
