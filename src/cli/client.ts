import { z } from 'zod';
import { printable } from '../core/names/printable.ts';
import { parseJson, renderJson } from '../net/json.ts';
import { nextPathIn } from '../net/next-page.ts';
import { type CliExit, exitFailed, type Io, wrongUsage } from './command.ts';

/** For a whole response with its body. Streams have no timeout. */
const TIMEOUT_MS = 30_000;
const MAX_PROBLEM_LENGTH = 500;

/**
 * Whole numbers in `body` are bigint. A response without a body has `''` and undefined. `code` and
 * `message` are set if Signpost sent the error; `message` is printable.
 */
export type ServiceAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      readonly body: unknown;
      /** Path of a list's next page. */
      readonly next?: string | undefined;
    }
  | {
      readonly ok: false;
      readonly refusal: CliExit;
      readonly code?: string;
      readonly message?: string;
    };

/** Paths start with `/v1`; bigints are sent as digits. No redirects or retries; never rejects. */
export type Call = (method: string, path: string, json?: unknown) => Promise<ServiceAnswer>;

/** Reading throws if the connection breaks. `isLasting`: a retry would get the same error. */
export type OpenedStream =
  | { readonly ok: true; readonly text: AsyncIterable<string> }
  | (Extract<ServiceAnswer, { readonly ok: false }> & { readonly isLasting: boolean });

/** The stream stays open until the signal or the service ends it. No redirects; never rejects. */
export type Open = (
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<OpenedStream>;

export type ServiceConnection =
  | { readonly ok: true; readonly call: Call; readonly open: Open }
  | { readonly ok: false; readonly refusal: CliExit };

/**
 * `givenUrl`, SIGNPOST_URL, then PORT (3000) on this machine. Calls act for SIGNPOST_ACCOUNT, if it
 * is set. Sends nothing.
 */
export function connect(givenUrl: string | undefined, env: Io['env']): ServiceConnection {
  const here = `http://127.0.0.1:${env['PORT'] || 3000}`;
  const url = (givenUrl ?? (env['SIGNPOST_URL'] || here)).replace(
    /(\/v1)?\/*$/, // accepts the API's base URL too
    '',
  );
  if (!/^https?:\/\/[^/?#@]+(\/[^?#]*)?$/.test(url) || !URL.canParse(url)) {
    const problem = `${printable(url, 100)} is not a valid URL. Example: http://127.0.0.1:3000`;
    return { ok: false, refusal: wrongUsage(problem) };
  }
  const key = keyIn(env);
  // Only checks characters that a header can carry; the service checks the rest.
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(key)) {
    const problem = key === '' ? 'is required' : 'does not contain a valid key';
    return { ok: false, refusal: wrongUsage(`SIGNPOST_API_KEY (or API_KEY) ${problem}`) };
  }
  const account = env['SIGNPOST_ACCOUNT'] || undefined;
  if (account !== undefined && !/^[\w-]+$/.test(account)) {
    return { ok: false, refusal: wrongUsage('SIGNPOST_ACCOUNT is not the ID of an account') };
  }
  const headers = {
    authorization: `Bearer ${key}`,
    ...(account !== undefined && { 'signpost-account': account }),
  };
  return { ok: true, call: callOf(url, headers), open: openOf(url, headers) };
}

/** Every page of a list as one answer, or the first error. */
export async function callPages(call: Call, path: string): Promise<ServiceAnswer> {
  const first = await call('GET', path);
  if (!first.ok || first.next === undefined) return first;
  const items = [...itemsIn(first.body)];
  for (let next: string | undefined = first.next; next !== undefined; ) {
    const answer: ServiceAnswer = await call('GET', next);
    if (!answer.ok) return answer;
    items.push(...itemsIn(answer.body));
    next = answer.next;
  }
  return { ok: true, body: items, text: renderJson(items) };
}

function itemsIn(body: unknown): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}

/** An empty string if neither is set. */
export function keyIn(env: Io['env']): string {
  return env['SIGNPOST_API_KEY'] || env['API_KEY'] || '';
}

type SentHeaders = Readonly<Record<string, string>>;

function callOf(url: string, sent: SentHeaders): Call {
  return async (method, path, json) => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...sent,
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: renderJson(json) }),
        redirect: 'error', // keeps the key from other servers
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const answer = answerOf(url, response.status, await response.text());
      return answer.ok ? { ...answer, next: nextPathIn(response.headers.get('link')) } : answer;
    } catch (fault) {
      return { ok: false, refusal: exitFailed(oneLine(notReached(url, fault))) };
    }
  };
}

function openOf(url: string, sent: SentHeaders): Open {
  return async (path, headers, signal) => {
    try {
      const response = await fetch(`${url}${path}`, {
        headers: { ...headers, ...sent, accept: 'text/event-stream' },
        redirect: 'error', // keeps the key from other servers
        signal,
      });
      const { status, body } = response;
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      if (status === 200 && isStream === true && body !== null) {
        return { ok: true, text: body.pipeThrough(new TextDecoderStream()) };
      }
      const answer = answerOf(url, status, await response.text());
      const isLasting = status < 500 && status !== 408 && status !== 429;
      return answer.ok
        ? { ok: false, refusal: exitFailed(oneLine(notOurs(url, status))), isLasting: true }
        : { ...answer, isLasting };
    } catch (fault) {
      return { ok: false, refusal: exitFailed(oneLine(notReached(url, fault))), isLasting: false };
    }
  };
}

const errorBody = z.object({ code: z.string(), message: z.string() });

function answerOf(url: string, status: number, text: string): ServiceAnswer {
  // A response without a body (204) cannot be parsed and is valid.
  const parsed = text === '' ? null : parseJson(new TextEncoder().encode(text));
  const body = parsed?.ok ? parsed.value : undefined;
  if (status < 300 && (text === '' || parsed?.ok)) return { ok: true, text, body };
  const error = errorBody.safeParse(body);
  if (!error.success) {
    return { ok: false, refusal: exitFailed(oneLine(notOurs(url, status))) };
  }
  const { code, message } = error.data;
  const remedy = Object.hasOwn(remedies, code) ? ` ${remedies[code]}` : '';
  return {
    ok: false,
    refusal: exitFailed(oneLine(`${message}${remedy} (${code})`)),
    code,
    message: oneLine(message),
  };
}

/** Advice for errors whose text does not mention the shell. */
const remedies: Readonly<Record<string, string>> = {
  unauthorized: 'The key came from SIGNPOST_API_KEY or, if that is empty, from API_KEY.',
  insufficient_scope:
    'An administrator can create a key with this scope: signpost keys create. Set it as SIGNPOST_API_KEY.',
};

function notOurs(url: string, status: number): string {
  return `${url} is not a Signpost service (status ${status})`;
}

const elsewhere = 'use --url or SIGNPOST_URL for another address';

function notReached(url: string, fault: unknown): string {
  return isUnreachable(fault)
    ? `Signpost is not running at ${url}. Start it with npm start in its folder, or ${elsewhere}`
    : `${url} cannot be reached: ${reasonOf(fault)}. Check the address, or ${elsewhere}`;
}

/** Also for a name with several addresses, none of which answers. */
function isUnreachable(fault: unknown): boolean {
  const cause = fault instanceof Error ? fault.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/** `fetch failed` has no details; its cause does. */
function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const { cause } = fault;
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0]);
  return cause instanceof Error ? cause.message || cause.name : fault.message;
}

/** Makes remote text printable: bounded, in one line and without control characters. */
function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim(), MAX_PROBLEM_LENGTH);
}
