/** Only to a checked address, without redirects. Only status and Retry-After leave this file. */
import type { LookupAddress } from 'node:dns';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { portOf } from '../core/certificates/reach.ts';
import type { WebhookResponse } from '../core/operations/webhook-plan.ts';
import { membersOf } from '../net/client-address.ts';
import { beforeAbort } from '../net/deadline.ts';
import { addressesOf, type Lookup, type ReceiverRules, urlProblem } from '../net/destination.ts';

/** Content type, length and user agent are added to the headers. */
type Outgoing = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole attempt, from the DNS query to the end of the response. */
  readonly timeoutMs: number;
};

export type SenderDeps = ReceiverRules & {
  readonly lookup: Lookup;
  readonly isAllowed: (address: string, port: number) => boolean;
  /** PEM root certificates to trust instead of the default ones. */
  readonly trust?: string;
};

/** Resolves on any failure of the receiver; rejects only on internal errors. */
export type Send = (outgoing: Outgoing) => Promise<WebhookResponse>;

/** The connection is closed after this much of a response body; its status still counts. */
const ANSWER_BYTES_MAX = 65_536;

type UnansweredProblem = Extract<WebhookResponse, { kind: 'unanswered' }>['problem'];

/** Each attempt resolves the name again and opens a new connection. */
export function createSender(deps: SenderDeps): Send {
  return async (outgoing) => {
    if (urlProblem(outgoing.url, deps) !== null) return unanswered('url_refused');
    const url = new URL(outgoing.url);
    const late = AbortSignal.timeout(outgoing.timeoutMs);
    const addresses = await beforeAbort(
      late,
      addressesOf(url, deps.lookup).catch(() => 'failed' as const),
      'late' as const,
    );
    if (addresses === 'late') return unanswered('timed_out');
    if (addresses === 'failed') return unanswered('name_not_told');
    if (addresses.length === 0) return unanswered('name_not_resolved');
    // All must be allowed, because the first that answers is used.
    if (!addresses.every(({ address }) => deps.isAllowed(address, portOf(url)))) {
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

function post(
  deps: SenderDeps,
  { url, addresses, outgoing, late }: Attempt,
): Promise<WebhookResponse> {
  const isSecure = url.protocol === 'https:';
  const request = (isSecure ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    agent: false, // a new connection, since a pooled one may lead to another host's address
    headers: {
      ...outgoing.headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(outgoing.body),
      'user-agent': 'Signpost-Webhooks/1.0',
    },
    lookup: always(addresses),
    signal: late,
    rejectUnauthorized: true, // even with NODE_TLS_REJECT_UNAUTHORIZED=0
    ...(deps.trust !== undefined && { ca: deps.trust }),
  });
  return new Promise((resolve) => {
    let reached: 'nothing' | 'host' | 'receiver' | 'refused' = 'nothing';
    request.on('socket', (socket: Socket) => {
      // Set before the request is written, so nothing is sent to an unchecked address.
      socket.once('connect', () => {
        reached = isSecure ? 'host' : 'receiver';
        if (isVetted(socket, { url, addresses }, deps)) return;
        reached = 'refused';
        request.destroy();
      });
      socket.once('secureConnect', () => {
        reached = 'receiver';
      });
    });
    const problem = (): UnansweredProblem => {
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

/** Calls once: with the response, even if its body broke off, or with null. */
function settle(request: ClientRequest, done: (response: IncomingMessage | null) => void): void {
  let answer: IncomingMessage | null = null;
  request.once('response', (response) => {
    answer = response;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) response.destroy();
    });
    response.on('error', () => {}); // broken off, but its status counts
  });
  request.on('error', () => {}); // 'close' follows
  request.once('close', () => done(answer));
}

function answered({ statusCode = 0, headers }: IncomingMessage): WebhookResponse {
  return { kind: 'answered', status: statusCode, retryAfter: headers['retry-after'] ?? null };
}

function unanswered(problem: UnansweredProblem): WebhookResponse {
  return { kind: 'unanswered', problem };
}

/** Gives a socket the checked addresses, so the name is not resolved again. */
function always(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, { all }, give) => {
    const [first = { address: '', family: 0 }] = addresses;
    if (all === true) give(null, [...addresses]);
    else give(null, first.address, first.family);
  };
}

/** `lookup` is not called for literal addresses; this always is. */
function isVetted(
  { remoteAddress }: Socket,
  { url, addresses }: Pick<Attempt, 'url' | 'addresses'>,
  { isAllowed }: SenderDeps,
): boolean {
  if (remoteAddress === undefined || !isAllowed(remoteAddress, portOf(url))) return false;
  return membersOf(addresses.map(({ address }) => address))(remoteAddress);
}
