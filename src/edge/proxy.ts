/**
 * Passes a request to a project's deploy and its answer back, streaming both ways. A protocol upgrade (WebSocket)
 * is not passed on yet: without its hop-by-hop fields the request reaches the deploy as a plain one.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { EdgeDeps, EdgeLimits } from './deps.ts';
import { clientHeaders, isLoop } from './forwarded-headers.ts';
import { type Page, pages, sendPage } from './pages.ts';
import type { RequestTarget } from './request-target.ts';
import { createUpstreams } from './upstream.ts';

export type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: RequestTarget;
  /** An http or https URL. */
  readonly upstream: string;
};

export type UpstreamProxy = {
  /** Answers by the upstream, or by a page where that is impossible; throws only for an upstream that is no URL. */
  readonly pass: (exchange: Exchange) => void;
  /** Ends the connections to upstreams. */
  readonly close: () => void;
};

/** A proxy with connections of its own. */
export function createProxy(limits: EdgeLimits, log: EdgeDeps['log']): UpstreamProxy {
  const upstreams = createUpstreams();

  function attempt(exchange: Exchange, mayRepeat: boolean): void {
    const { request, response, target, upstream } = exchange;
    const outgoing = upstreams.open(upstream, target, request);
    let isLate = false;
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
      outgoing.setTimeout(limits.silenceMs, abort);
      answer(exchange, incoming);
    });
    // RFC 9110, 15.2.2: 101 is for those who asked to upgrade, and no request that we pass on does.
    outgoing.once('upgrade', (_incoming, socket) => {
      socket.destroy();
      giveUp(exchange, pages.upstreamUnreachable);
    });
    outgoing.on('error', (error) => {
      response.off('close', abort);
      if (hasLeft(exchange)) return;
      if (mayRepeat && outgoing.reusedSocket && !isLate && !response.headersSent) {
        attempt(exchange, false);
        return;
      }
      log.debug({ err: error, hostname: target.hostname }, 'the upstream failed');
      giveUp(exchange, isLate ? pages.upstreamSlow : pages.upstreamUnreachable);
    });
    sendBody(request, outgoing, patience);
  }

  return {
    pass(exchange) {
      if (hasLeft(exchange)) return; // or was cut off, while the route was looked up
      if (isLoop(exchange.request.headers)) giveUp(exchange, pages.loop);
      else attempt(exchange, isRepeatable(exchange.request));
    },
    close: upstreams.close,
  };
}

/** The upstream's answer to the client; one cut short ends the client's connection too. */
function answer(exchange: Exchange, incoming: IncomingMessage): void {
  const { response } = exchange;
  const { statusCode = 0 } = incoming;
  try {
    // Node takes a 101 that names no protocol for an answer. To a visitor it would mean: the connection is yours.
    if (statusCode < 200) throw new RangeError('no final status code');
    response.writeHead(statusCode, clientHeaders(incoming));
  } catch {
    incoming.destroy(); // a status code or a field that HTTP does not have
    giveUp(exchange, pages.upstreamUnreachable);
    return;
  }
  response.flushHeaders(); // an event stream may be silent for a while
  pipeline(incoming, response, () => {});
}

function giveUp({ request, response, target }: Exchange, page: (hostname: string) => Page): void {
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
