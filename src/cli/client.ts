/** The HTTP API as the command line calls it. */
import { z } from 'zod';
import { printable } from '../core/names/printable.ts';
import { parseJson, renderJson } from '../net/json.ts';
import { failed, type Io, type Outcome, wrongUsage } from './command.ts';

/** For a whole answer, body included. Streams have none of it. */
const TIMEOUT_MS = 30_000;
/** Of what is printed of a refusal, in characters. */
const MAX_PROBLEM_LENGTH = 500;

/**
 * `text` is the body as it came, `body` the same parsed, with every whole number a bigint; both are empty for an
 * answer without a body (`''` and undefined). `code` and `message` are the service's own, `message` fit to be
 * printed; without them it was not the service that refused.
 */
export type Answer =
  | {
      readonly ok: true;
      readonly text: string;
      readonly body: unknown;
      /** Of a list that goes on: where its next page is, for `everyPage`. */
      readonly cursor?: string;
    }
  | {
      readonly ok: false;
      readonly refusal: Outcome;
      readonly code?: string;
      readonly message?: string;
    };

/**
 * Sends one request and waits 30 s at most for the whole answer. A path starts with `/v1`; `json` is sent as the
 * body, a bigint as digits. Follows no redirect, tries once, and never rejects.
 */
export type Call = (method: string, path: string, json?: unknown) => Promise<Answer>;

/**
 * Text as it comes, of an answer that has no end of its own; reading it throws where the connection breaks off.
 * `isLasting`: asking again would bring the same refusal.
 */
export type Opened =
  | { readonly ok: true; readonly text: AsyncIterable<string> }
  | (Extract<Answer, { readonly ok: false }> & { readonly isLasting: boolean });

/**
 * Opens a stream of events, which stays open until the signal ends it or the service does. `headers` are sent beside
 * the key. Follows no redirect, and never rejects.
 */
export type Open = (
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Opened>;

/** A service and the key to call it with, or what kept us from knowing either. */
export type Connection =
  | { readonly ok: true; readonly call: Call; readonly open: Open }
  | { readonly ok: false; readonly refusal: Outcome };

/**
 * Finds out whom to call, and with which key; sends nothing. `givenUrl` goes before SIGNPOST_URL, and that before
 * this machine at PORT (3000). SIGNPOST_ACCOUNT is the account that the key acts for; without it, what the key reaches.
 * Refuses what is no http or https URL or has credentials, a query or a fragment, and a
 * key that is missing or that no header could carry.
 */
export function connect(givenUrl: string | undefined, env: Io['env']): Connection {
  const here = `http://127.0.0.1:${env['PORT'] || 3000}`;
  const url = (givenUrl ?? (env['SIGNPOST_URL'] || here)).replace(
    /(\/v1)?\/*$/, // the API's own base is as good as the service's
    '',
  );
  if (!/^https?:\/\/[^/?#@]+(\/[^?#]*)?$/.test(url) || !URL.canParse(url)) {
    const problem = `${printable(url, 100)} is no URL such as http://127.0.0.1:3000`;
    return { ok: false, refusal: wrongUsage(problem) };
  }
  const key = keyIn(env);
  // What a header could not carry is no key; what is wrong with it otherwise is for the service to say.
  if (!/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(key)) {
    const problem = key === '' ? 'is needed' : 'holds no key';
    return { ok: false, refusal: wrongUsage(`SIGNPOST_API_KEY (or API_KEY) ${problem}`) };
  }
  const account = env['SIGNPOST_ACCOUNT'] ?? '';
  if (!/^[\x21-\x7e]*$/.test(account)) {
    return { ok: false, refusal: wrongUsage('SIGNPOST_ACCOUNT holds no ID of an account') };
  }
  const identity = {
    authorization: `Bearer ${key}`,
    ...(account !== '' && { 'signpost-account': account }),
  };
  return { ok: true, call: callOf(url, identity), open: openOf(url, identity) };
}

/** The key to call with: SIGNPOST_API_KEY, or API_KEY where that is empty. An empty string where there is none. */
export function keyIn(env: Io['env']): string {
  return env['SIGNPOST_API_KEY'] || env['API_KEY'] || '';
}

/** Headers that say who calls, and for which account. */
type Identity = Readonly<Record<string, string>>;

function callOf(url: string, identity: Identity): Call {
  return async (method, path, json) => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...identity,
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: renderJson(json) }),
        redirect: 'error', // nobody else is to be shown the key
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const answer = answerOf(url, response.status, await response.text());
      const cursor = cursorIn(response.headers.get('link'));
      return answer.ok && cursor !== null ? { ...answer, cursor } : answer;
    } catch (fault) {
      return { ok: false, refusal: failed(oneLine(notReached(url, fault))) };
    }
  };
}

/**
 * Every page of a list, one request after the other: `body` has all of its items, `text` what came, or the same of several
 * pages. The first refusal instead where one is refused: half a list would pass for the whole. Never rejects.
 */
export async function everyPage(call: Call, path: string): Promise<Answer> {
  const items: unknown[] = [];
  let next = path;
  for (;;) {
    const answer = await call('GET', next);
    if (!answer.ok || !Array.isArray(answer.body)) return answer;
    items.push(...answer.body);
    if (answer.cursor === undefined) {
      const text = next === path ? answer.text : renderJson(items);
      return { ok: true, text, body: items };
    }
    next = `${path}${path.includes('?') ? '&' : '?'}cursor=${answer.cursor}`;
  }
}

/** Of the link to the page that follows; null where there is none. */
function cursorIn(link: string | null): string | null {
  return /[?&]cursor=([\w-]+)[^>]*>; rel="next"/.exec(link ?? '')?.[1] ?? null;
}

function openOf(url: string, identity: Identity): Open {
  return async (path, headers, signal) => {
    try {
      const response = await fetch(`${url}${path}`, {
        headers: { ...headers, ...identity, accept: 'text/event-stream' },
        redirect: 'error', // nobody else is to be shown the key
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
        ? { ok: false, refusal: failed(oneLine(notOurs(url, status))), isLasting: true }
        : { ...answer, isLasting };
    } catch (fault) {
      return { ok: false, refusal: failed(oneLine(notReached(url, fault))), isLasting: false };
    }
  };
}

const errorBody = z.object({ code: z.string(), message: z.string() });

function answerOf(url: string, status: number, text: string): Answer {
  // An answer without a body (204) is none that could be parsed, and nothing is wrong with it.
  const parsed = text === '' ? null : parseJson(new TextEncoder().encode(text));
  const body = parsed?.ok ? parsed.value : undefined;
  if (status < 300 && (text === '' || parsed?.ok)) return { ok: true, text, body };
  const error = errorBody.safeParse(body);
  if (!error.success) {
    return { ok: false, refusal: failed(oneLine(notOurs(url, status))) };
  }
  const { code, message } = error.data;
  const remedy = Object.hasOwn(remedies, code) ? ` ${remedies[code]}` : '';
  return {
    ok: false,
    refusal: failed(oneLine(`${message}${remedy} (${code})`)),
    code,
    message: oneLine(message),
  };
}

/** What somebody at a shell can do about a refusal that says nothing of a shell. */
const remedies: Readonly<Record<string, string>> = {
  unauthorized: 'It was taken from SIGNPOST_API_KEY or, where that is empty, from API_KEY.',
  insufficient_scope:
    'The one in SIGNPOST_API_KEY (or API_KEY) does not have it; an administrator makes one that has: signpost keys create.',
};

function notOurs(url: string, status: number): string {
  return `${url} does not answer as Signpost does (status ${status})`;
}

const elsewhere = '--url or SIGNPOST_URL names another';

function notReached(url: string, fault: unknown): string {
  return isNobodyThere(fault)
    ? `no Signpost answers at ${url} (nothing listens there); start it with npm start in its folder; ${elsewhere}`
    : `${url} cannot be reached: ${reasonOf(fault)}; ${elsewhere}`;
}

/** Also of a name with several addresses, none of which answers. */
function isNobodyThere(fault: unknown): boolean {
  const cause = fault instanceof Error ? fault.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED';
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault);
  const { cause } = fault;
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0]);
  return cause instanceof Error ? cause.message || cause.name : fault.message;
}

/** What came from elsewhere must neither fill a screen nor steer it. */
function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim(), MAX_PROBLEM_LENGTH);
}
