/**
 * Passes a request to a project's deploy and its answer back, streaming both ways. Of protocol upgrades WebSocket is
 * passed on; with any other the request reaches the deploy as a plain one, without its hop-by-hop fields.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { printable } from '../../core/names/printable.ts';
import { cameThroughEdge } from '../../net/via.ts';
import type { EdgeDeps, EdgeLimits } from '../deps.ts';
import { loadOnce } from '../tls/secure-contexts.ts';
import { clientHeaders } from './forwarded-headers.ts';
import { type Page, pages, sendPage } from './pages.ts';
import {
  createUpstreams,
  type Passed,
  PathRefused,
  type Terms,
  type Trust,
  UpstreamRefused,
} from './upstream.ts';
import { asksForWebSocket, isWebSocket, switching, tunnel } from './websocket.ts';

/** A request that is passed on, and where its answer goes. */
export type Exchange = Passed & { readonly response: ServerResponse };

/** Passes requests on to deploys. */
export type UpstreamProxy = {
  /**
   * Answers by the upstream, or by a page where that is impossible; resolves when it is under way, and rejects only for an
   * upstream that is no URL.
   */
  readonly pass: (exchange: Exchange) => Promise<void>;
  /** Ends the connections to upstreams. */
  readonly close: () => void;
};

type ProxyDeps = Pick<EdgeDeps, 'reach' | 'signingKey' | 'loadUpstreamCa' | 'log'>;

/** A proxy with connections of its own. */
export function createProxy(deps: ProxyDeps, limits: EdgeLimits): UpstreamProxy {
  const { reach, log } = deps;
  const findTrust = createTrusts(deps);
  const upstreams = createUpstreams(deps);

  function attempt(exchange: Exchange, terms: Terms, mayRepeat: boolean): void {
    const { request, response } = exchange;
    const outgoing = upstreams.open(exchange, terms);
    let isLate = false;
    let isAnswered = () => false;
    // Not the socket's own timeout, which interim responses (RFC 9110, 15.2) put off as often as an upstream likes.
    const patience = setTimeout(() => {
      isLate = true;
      outgoing.destroy();
    }, limits.firstByteMs);
    const abort = () => outgoing.destroy();
    response.once('close', abort); // the client has left, or has its answer
    outgoing.once('close', () => clearTimeout(patience));
    outgoing.once('response', (incoming) => {
      clearTimeout(patience);
      isAnswered = () => incoming.complete;
      endWhenSilent(outgoing, incoming, response, limits.silenceMs);
      answer(exchange, incoming);
    });
    outgoing.once('upgrade', (incoming, socket, head) => {
      clearTimeout(patience);
      socket.unshift(head);
      answerUpgrade(exchange, incoming, socket, limits.webSocketSilenceMs);
    });
    outgoing.on('error', (error) => {
      response.off('close', abort);
      if (isAnswered()) warnOfMore(exchange, log, error);
      else if (!hasLeft(exchange)) afterFault(error);
    });
    sendBody(request, outgoing, patience);

    function afterFault(error: Error): void {
      if (isLate) fail(exchange, log, error, pages.upstreamSlow);
      else if (isUnverified(outgoing)) warnOfCertificate(exchange, log, error);
      else if (mayRepeat && isUnheard(outgoing, response)) attempt(exchange, terms, false);
      else fail(exchange, log, error, pages.upstreamUnreachable);
    }
  }

  return {
    async pass(exchange) {
      const { upstreamCaId } = exchange.route;
      const [problemAt, trust] = await Promise.all([reach.decide(), findTrust(upstreamCaId)]);
      if (hasLeft(exchange)) return; // or was cut off, while the route was looked up
      if (cameThroughEdge(exchange.request.headers)) return giveUp(exchange, pages.loop);
      try {
        attempt(exchange, { problemAt, trust }, isRepeatable(exchange.request));
      } catch (error) {
        if (error instanceof PathRefused) return giveUp(exchange, pages.badRequest);
        if (!(error instanceof UpstreamRefused)) throw error;
        fail(exchange, log, error, pages.upstreamUnreachable);
      }
    },
    close: upstreams.close,
  };
}

/** Our choice. A context takes 32 KiB with one authority, 116 KiB with sixteen (measured, Node 20). */
const TRUSTS_MAX = 500;

/** By the id of a deploy, its own authorities; null for null. Rejects where they cannot be loaded, or are gone. */
function createTrusts({ loadUpstreamCa }: Pick<EdgeDeps, 'loadUpstreamCa'>) {
  const kept = new LRUCache<string, Trust>({ max: TRUSTS_MAX });
  const find = loadOnce(kept, async (trustId: string) => {
    const ca = await loadUpstreamCa(trustId);
    // An authority below another one may be all that is given, or the deploy's own certificate.
    const rules = { minVersion: 'TLSv1.2', allowPartialTrustChain: true } as const;
    return ca === null ? null : { trustId, secureContext: createSecureContext({ ca, ...rules }) };
  });
  return async (deployId: string | null): Promise<Trust | null> => {
    if (deployId === null) return null;
    const trust = await find(deployId);
    if (trust === null) throw new Error(`what deploy ${deployId} is verified by is gone`);
    return trust;
  };
}

type Log = EdgeDeps['log'];

/** Whether a kept connection may have ended before the deploy read the request. */
function isUnheard({ reusedSocket }: ClientRequest, { headersSent }: ServerResponse): boolean {
  return reusedSocket && !headersSent;
}

/** Whether the deploy's certificate was refused: it has not been sent anything of the request. */
function isUnverified({ socket }: ClientRequest): boolean {
  // Null while nothing is wrong with it; @types/node does not say so.
  return socket instanceof TLSSocket && Boolean(socket.authorizationError);
}

function warnOfCertificate(exchange: Exchange, log: Log, { message }: Error): void {
  const { hostname } = exchange.target;
  const reason = printable(message, REASON_MAX); // has names of the certificate in it
  log.warn({ hostname, reason }, 'the certificate of a deploy does not verify');
  giveUp(exchange, pages.upstreamUnverified);
}

/** Characters of a line of the log. */
const REASON_MAX = 300;

function fail(exchange: Exchange, log: Log, error: unknown, page: PageFor): void {
  const isRefused = error instanceof UpstreamRefused;
  const { hostname } = exchange.target;
  if (isRefused) log.warn({ hostname, reason: error.message }, 'an upstream is out of reach');
  else log.debug({ err: error, hostname }, 'the upstream failed');
  giveUp(exchange, isRefused ? pages.upstreamRefused : page);
}

/** The answer is there, and what the deploy sent behind it has broken the deploy's connection alone. */
function warnOfMore(
  { request: { method }, response, target }: Exchange,
  log: Log,
  error: Error,
): void {
  const isParsers = 'code' in error && String(error.code).startsWith('HPE_');
  if (!isParsers) return;
  const { hostname } = target;
  const status = response.statusCode;
  log.warn({ hostname, method, status, err: error }, 'a deploy sent more than its answer');
}

/** While a slow client is waited for, nobody listens to the upstream; such a client has limits of its own. */
function endWhenSilent(
  outgoing: ClientRequest,
  incoming: IncomingMessage,
  response: ServerResponse,
  silenceMs: number,
): void {
  outgoing.setTimeout(silenceMs);
  outgoing.on('timeout', () => {
    if (response.writableNeedDrain && !response.destroyed) outgoing.socket?.setTimeout(silenceMs);
    else if (!incoming.complete) outgoing.destroy();
  });
}

/** The upstream's answer to the client; one cut short ends the client's connection too. */
function answer(exchange: Exchange, incoming: IncomingMessage): void {
  const { response } = exchange;
  const { statusCode = 0 } = incoming;
  try {
    // Node takes a 101 that names no protocol for an answer. To a visitor it would mean: the connection is yours.
    if (statusCode < 200) throw new RangeError('no final status code');
    response.writeHead(statusCode, clientHeaders(incoming, response));
  } catch {
    incoming.destroy(); // a status code or a field that HTTP does not have
    giveUp(exchange, pages.upstreamUnreachable);
    return;
  }
  if (isBodiless(exchange.request, statusCode)) {
    response.end();
    incoming.resume();
  } else {
    passOn(incoming, response);
  }
}

/** RFC 9110, 6.4.1. A deploy that sends a body all the same breaks its own connection, not the visitor's answer. */
function isBodiless({ method }: IncomingMessage, statusCode: number): boolean {
  return method === 'HEAD' || statusCode === 204 || statusCode === 304;
}

/**
 * Not by `pipeline`, which makes an AbortController for each answer, and an error to abort it with at its end; nor by `pipe`,
 * which puts eight listeners in place, and takes them away again.
 */
function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  let isSilent = true;
  incoming.on('data', (chunk: Buffer) => {
    isSilent = false; // the header goes along with it
    if (!response.write(chunk)) incoming.pause();
  });
  response.on('drain', () => incoming.resume());
  incoming.once('end', () => response.end());
  incoming.on('error', () => {}); // `close` follows
  incoming.once('close', () => {
    if (!incoming.readableEnded) response.destroy();
  });
  response.on('error', () => {});
  // An event stream may be silent for a while.
  setImmediate(() => {
    if (isSilent && !response.writableEnded) response.flushHeaders();
  });
}

/** The upstream's 101. RFC 9110, 15.2.2: it is for those alone who asked to switch, and for what they asked for. */
function answerUpgrade(
  exchange: Exchange,
  incoming: IncomingMessage,
  upstream: Socket,
  silenceMs: number,
): void {
  const { request, response } = exchange;
  upstream.on('error', () => {}); // `close` follows
  if (hasLeft(exchange) || !asksForWebSocket(request) || !isWebSocket(incoming.headers)) {
    upstream.destroy();
    if (!hasLeft(exchange)) giveUp(exchange, pages.upstreamUnreachable);
    return;
  }
  try {
    response.writeHead(101, { ...clientHeaders(incoming, response), ...switching });
  } catch {
    upstream.destroy();
    giveUp(exchange, pages.upstreamUnreachable);
    return;
  }
  response.flushHeaders();
  response.detachSocket(request.socket);
  tunnel(request.socket, upstream, silenceMs);
}

type PageFor = (hostname: string) => Page;

function giveUp({ request, response, target }: Exchange, page: PageFor): void {
  request.unpipe();
  // Half a body is left on the connection: reading it to its end could take for ever.
  sendPage(response, { ...page(target.hostname), close: !request.complete });
}

/** While the body goes out the upstream need not answer: `patience` counts from its last part. */
function sendBody(
  request: IncomingMessage,
  outgoing: ClientRequest,
  patience: NodeJS.Timeout,
): void {
  if (!hasBody(request)) {
    outgoing.end();
    return;
  }
  request.on('data', () => patience.refresh()); // of a cleared timer this does nothing
  request.pipe(outgoing);
}

/** Whether there is nobody to answer any more. */
function hasLeft({ request, response }: Exchange): boolean {
  return request.socket.destroyed || response.destroyed;
}

/** RFC 9112, 6: a request has a body where one of the two fields says so. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/**
 * Whether a request that met a kept connection's end may be sent once more (RFC 9110, 9.2.2): safe methods only,
 * because the deploy may have acted on it.
 */
function isRepeatable(request: IncomingMessage): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '') && !hasBody(request);
}
