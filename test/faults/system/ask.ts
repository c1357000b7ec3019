/** One HTTP request on a new connection. Failures are values, never exceptions. */
import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';

export type Answer = {
  /** 0 without a response. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed if JSON; without a response, the error. */
  readonly body: unknown;
  readonly ms: number;
};

export type AskOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly timeoutMs?: number;
};

/** As long as a load balancer waits, or longer. */
const TIMEOUT_MS = 60_000;

export function ask(method: string, url: string, options: AskOptions = {}): Promise<Answer> {
  const began = performance.now();
  const { headers = {}, body, timeoutMs = TIMEOUT_MS } = options;
  const sent = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve) => {
    const nothing = (why: unknown) =>
      resolve({ status: 0, headers: {}, body: String(why), ms: performance.now() - began });
    const given = {
      ...headers,
      ...(sent !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(sent)),
      }),
    };
    const asked = request(
      url,
      { method, headers: given, agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        text(response).then((said) => {
          const ms = performance.now() - began;
          const { statusCode: status = 0, headers: received } = response;
          resolve({ status, headers: received, body: parsed(said), ms });
        }, nothing);
      },
    );
    asked.on('error', nothing).end(sent);
  });
}

function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}
