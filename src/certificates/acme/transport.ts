/** HTTPS to an ACME server (RFC 8555, 6.1): limited in time and size, without redirects. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { certificateFault } from '../fault.ts';

/** For a whole exchange, including connection and body. */
const TIMEOUT_MS = 10_000;
const RESPONSE_BYTES_MAX = 1_048_576;
/** Shorter than servers' own timeouts, so that connections rarely close during a request. */
const IDLE_SOCKET_MS = 4_000;

export type TransportRequest = {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  readonly accept?: string | undefined;
  readonly body?: string;
};

/** A complete response of any status. */
export type TransportReply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** Throws `ca_unreachable` without a complete response in time or above RESPONSE_BYTES_MAX. */
export type AcmeTransport = (request: TransportRequest) => Promise<TransportReply>;

/** `trust`: PEM to trust instead of the system's roots. */
export function createTransport(trust: string | null, timeoutMs = TIMEOUT_MS): AcmeTransport {
  const agent = new Agent({
    keepAlive: true,
    timeout: IDLE_SOCKET_MS,
    ...(trust === null ? {} : { ca: trust }),
  });
  return async (request) => {
    try {
      return await send(agent, request, timeoutMs);
    } catch (cause) {
      throw certificateFault('ca_unreachable', `the authority gave no answer (${codeOf(cause)})`, {
        cause,
      });
    }
  };
}

function send(agent: Agent, { method, url, accept, body }: TransportRequest, timeoutMs: number) {
  return new Promise<TransportReply>((resolve, reject) => {
    const headers: Record<string, string | number> = {
      'User-Agent': 'signpost/0.1', // RFC 8555, 6.1: clients MUST send one
      'Accept-Language': 'en',
      Accept: accept ?? 'application/json, application/problem+json',
    };
    if (body !== undefined) {
      headers['Content-Type'] = 'application/jose+json'; // RFC 8555, 6.2
      headers['Content-Length'] = Buffer.byteLength(body);
    }
    const signal = AbortSignal.timeout(timeoutMs);
    const request = httpsRequest(url, { agent, method, headers, signal }, (response) => {
      readCapped(response).then(
        (text) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        reject,
      );
    });
    request.on('error', reject).end(body);
  });
}

async function readCapped(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    // without setEncoding a stream yields Buffers
    size += chunk.length;
    if (size > RESPONSE_BYTES_MAX) throw new Error('more than 1 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Such as ECONNREFUSED, DEPTH_ZERO_SELF_SIGNED_CERT or ABORT_ERR. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
}
