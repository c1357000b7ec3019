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
  const upstreams = createUpstreams(limits.firstByteMs);

  function attempt(exchange: Exchange, mayRepeat: boolean): void {
    const { request, response, target, upstream } = exchange;
    const outgoing = upstreams.open(upstream, target, request);
    let timedOut = false;
    const abort = () => outgoing.destroy();
    response.once('close', abort); // the client has left, or has its answer
    outgoing.on('timeout', () => {
      timedOut = true;
      outgoing.destroy();
    });
    outgoing.once('response', (incoming) => answer(exchange, incoming, limits.silenceMs));
    outgoing.on('error', (error) => {
      response.off('close', abort);
      if (mayRepeat && outgoing.reusedSocket && !timedOut && !response.headersSent) {
        attempt(exchange, false);
        return;
      }
      log.debug({ err: error, hostname: target.hostname }, 'the upstream failed');
      giveUp(exchange, timedOut ? pages.upstreamSlow : pages.upstreamUnreachable);
    });
    sendBody(request, outgoing);
  }

  return {
    pass(exchange) {
      if (isLoop(exchange.request.headers)) giveUp(exchange, pages.loop);
      else attempt(exchange, isRepeatable(exchange.request));
    },
    close: upstreams.close,
  };
}

/** The upstream's answer to the client; one cut short ends the client's connection too. */
function answer(exchange: Exchange, incoming: IncomingMessage, silenceMs: number): void {
  incoming.socket.setTimeout(silenceMs);
  const { response } = exchange;
  try {
    response.writeHead(incoming.statusCode ?? 502, clientHeaders(incoming));
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

function sendBody(request: IncomingMessage, outgoing: ClientRequest): void {
  if (hasBody(request)) request.pipe(outgoing);
  else outgoing.end();
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
