/** Forwards requests to a deploy, and streams responses. Only WebSocket upgrades are forwarded. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { printable } from '../../core/names/printable.ts';
import type { EdgeLookups } from '../../db/domains/edge-lookups.ts';
import { loadOnce } from '../../net/load-once.ts';
import type { EdgeLog, EdgeService } from '../edge-service.ts';
import type { EdgeLimits } from '../limits.ts';
import { clientHeaders, isLoop } from './forwarded-headers.ts';
import { type ErrorPage, pages, sendPage } from './pages.ts';
import {
  createUpstreams,
  type Passed,
  PathRefused,
  type Terms,
  type Trust,
  type UpstreamReach,
  UpstreamRefused,
} from './upstream.ts';
import { asksForWebSocket, isWebSocket, switching, tunnel } from './websocket.ts';

type Exchange = Passed & { readonly response: ServerResponse };

export type UpstreamProxy = {
  /** Resolves when forwarding has started; rejects only if the upstream is not a URL. */
  readonly pass: (exchange: Exchange) => Promise<void>;
  /** Closes the connections to upstreams. */
  readonly close: () => void;
};

export function createProxy(
  { log, lookups, signingKey }: Pick<EdgeService, 'log' | 'lookups' | 'signingKey'>,
  reach: UpstreamReach,
  limits: EdgeLimits,
): UpstreamProxy {
  const findTrust = createTrusts(lookups);
  const upstreams = createUpstreams(reach, signingKey);

  function attempt(exchange: Exchange, terms: Terms, mayRepeat: boolean): void {
    const { request, response } = exchange;
    const outgoing = upstreams.open(exchange, terms);
    let isLate = false;
    let isAnswered = () => false;
    // Not the socket's timeout, which every interim response (RFC 9110, 15.2) would restart.
    const patience = setTimeout(() => {
      isLate = true;
      outgoing.destroy();
    }, limits.firstByteMs);
    const abort = () => outgoing.destroy();
    response.once('close', abort); // the client disconnected or has its response
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
      const [classify, trust] = await Promise.all([reach.decide(), findTrust(upstreamCaId)]);
      // the client disconnected or was cut off during the route lookup
      if (hasLeft(exchange)) return;
      if (isLoop(exchange.request.headers)) return giveUp(exchange, pages.loop);
      try {
        attempt(exchange, { classify, trust }, isRepeatable(exchange.request));
      } catch (error) {
        if (error instanceof PathRefused) return giveUp(exchange, pages.badRequest);
        if (!(error instanceof UpstreamRefused)) throw error;
        fail(exchange, log, error, pages.upstreamUnreachable);
      }
    },
    close: upstreams.close,
  };
}

/** A context takes 32 KiB with one CA, 116 KiB with sixteen (measured, Node 20). */
const TRUSTS_MAX = 500;

/** By deploy ID; null for null. Rejects if the CAs cannot be loaded or are gone. */
function createTrusts(lookups: Pick<EdgeLookups, 'loadUpstreamCa'>) {
  const kept = new LRUCache<string, Trust>({ max: TRUSTS_MAX });
  const find = loadOnce(kept, async (trustId: string) => {
    const ca = await lookups.loadUpstreamCa(trustId);
    // The list may contain only an intermediate CA, or the deploy's own certificate.
    const rules = { minVersion: 'TLSv1.2', allowPartialTrustChain: true } as const;
    return ca === null ? null : { trustId, secureContext: createSecureContext({ ca, ...rules }) };
  });
  return async (deployId: string | null): Promise<Trust | null> => {
    if (deployId === null) return null;
    const trust = await find(deployId);
    if (trust === null)
      throw new Error(`the CA certificates of deploy ${deployId} no longer exist`);
    return trust;
  };
}

/** The deploy may have closed a kept connection before it read the request. */
function isUnheard({ reusedSocket }: ClientRequest, { headersSent }: ServerResponse): boolean {
  return reusedSocket && !headersSent;
}

/** The deploy's certificate was refused; nothing of the request was sent. */
function isUnverified({ socket }: ClientRequest): boolean {
  // Null if there is no error; @types/node does not declare that.
  return socket instanceof TLSSocket && Boolean(socket.authorizationError);
}

function warnOfCertificate(exchange: Exchange, log: EdgeLog, { message }: Error): void {
  const { hostname } = exchange.target;
  const reason = printable(message, REASON_MAX); // contains names from the certificate
  log.warn({ domain: hostname, reason }, 'the certificate of a deploy does not verify');
  giveUp(exchange, pages.upstreamUnverified);
}

/** In characters. */
const REASON_MAX = 300;

function fail(exchange: Exchange, log: EdgeLog, error: unknown, page: PageFor): void {
  const isRefused = error instanceof UpstreamRefused;
  const { hostname } = exchange.target;
  if (isRefused) log.warn({ domain: hostname, reason: error.message }, 'deploy address refused');
  else log.debug({ err: error, domain: hostname }, 'upstream request failed');
  giveUp(exchange, isRefused ? pages.upstreamRefused : page);
}

/** The response is complete; extra data from the deploy only broke the deploy's connection. */
function warnOfMore(
  { request: { method }, response, target }: Exchange,
  log: EdgeLog,
  error: Error,
): void {
  const isParsers = 'code' in error && String(error.code).startsWith('HPE_');
  if (!isParsers) return;
  const { hostname } = target;
  const status = response.statusCode;
  log.warn({ domain: hostname, method, status, err: error }, 'deploy sent data after its response');
}

/** Stops reading the upstream while the client is slow. Slow clients have their own limits. */
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

/** If the response is cut short, the client's connection is closed too. */
function answer(exchange: Exchange, incoming: IncomingMessage): void {
  const { response } = exchange;
  const { statusCode = 0 } = incoming;
  try {
    // Node.js treats a 101 without an upgrade as a response; the visitor would switch protocols.
    if (statusCode < 200) throw new RangeError('no final status code');
    response.writeHead(statusCode, clientHeaders(incoming, response));
  } catch {
    incoming.destroy(); // an invalid status code or field
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

/** RFC 9110, 6.4.1. A deploy that sends a body anyway breaks only its own connection. */
function isBodiless({ method }: IncomingMessage, statusCode: number): boolean {
  return method === 'HEAD' || statusCode === 204 || statusCode === 304;
}

/** `pipeline` creates an AbortController and an error each; `pipe` adds eight listeners. */
function passOn(incoming: IncomingMessage, response: ServerResponse): void {
  let isSilent = true;
  incoming.on('data', (chunk: Buffer) => {
    isSilent = false; // the headers are sent with it
    if (!response.write(chunk)) incoming.pause();
  });
  response.on('drain', () => incoming.resume());
  incoming.once('end', () => response.end());
  incoming.on('error', () => {}); // `close` follows
  incoming.once('close', () => {
    if (!incoming.readableEnded) response.destroy();
  });
  response.on('error', () => {});
  // An event stream can be silent for a while.
  setImmediate(() => {
    if (isSilent && !response.writableEnded) response.flushHeaders();
  });
}

/** RFC 9110, 15.2.2: a 101 only for clients that requested this upgrade. */
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

type PageFor = (hostname: string) => ErrorPage;

function giveUp({ request, response, target }: Exchange, page: PageFor): void {
  request.unpipe();
  // Half a body is left on the connection, and reading the rest could take forever.
  sendPage(response, { ...page(target.hostname), close: !request.complete });
}

/** While the body is sent, the upstream need not answer: `patience` restarts with each chunk. */
function sendBody(
  request: IncomingMessage,
  outgoing: ClientRequest,
  patience: NodeJS.Timeout,
): void {
  if (!hasBody(request)) {
    outgoing.end();
    return;
  }
  request.on('data', () => patience.refresh()); // does nothing for a cleared timer
  request.pipe(outgoing);
}

function hasLeft({ request, response }: Exchange): boolean {
  return request.socket.destroyed || response.destroyed;
}

/** RFC 9112, 6: a request has a body if one of the two fields is present. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** RFC 9110, 9.2.2: the deploy may have processed the request before the connection closed. */
function isRepeatable(request: IncomingMessage): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '') && !hasBody(request);
}
