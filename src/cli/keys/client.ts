/** The HTTP API as the command line calls it. */
import { z } from 'zod';
import { printable } from '../../core/printable.ts';
import { parseJson, renderJson } from '../../http/json.ts';
import { failed, type Io, type Outcome, wrongUsage } from '../command.ts';

const TIMEOUT_MS = 30_000;
const MAX_PROBLEM_LENGTH = 500;

/**
 * `text` is the body as it came, `body` the same parsed, with every whole number a bigint. `code` and `message` are the
 * service's own, fit to be printed; without them it was not the service that refused.
 */
export type Answer =
  | { readonly ok: true; readonly text: string; readonly body: unknown }
  | {
      readonly ok: false;
      readonly refusal: Outcome;
      readonly code?: string;
      readonly message?: string;
    };

/** Sends one request; a path starts with `/v1`. Never throws. */
export type Call = (method: string, path: string, json?: unknown) => Promise<Answer>;

export type Connection =
  | { readonly ok: true; readonly call: Call }
  | { readonly ok: false; readonly refusal: Outcome };

/** Finds out whom to call, and with which key. Asks nobody yet. */
export function connect(givenUrl: string | undefined, env: Io['env']): Connection {
  const here = `http://127.0.0.1:${env['PORT'] || 3000}`;
  const url = (givenUrl ?? env['SIGNPOST_URL'] ?? here).replace(
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
  return { ok: true, call: callOf(url, key) };
}

/** The key to call with; empty where there is none. */
export function keyIn(env: Io['env']): string {
  return env['SIGNPOST_API_KEY'] || env['API_KEY'] || '';
}

function callOf(url: string, key: string): Call {
  return async (method, path, json) => {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: renderJson(json) }),
        redirect: 'error', // nobody else is to be shown the key
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return answerOf(url, response.status, await response.text());
    } catch (fault) {
      return {
        ok: false,
        refusal: failed(oneLine(`${url} cannot be reached: ${reasonOf(fault)}`)),
      };
    }
  };
}

const errorBody = z.object({ code: z.string(), message: z.string() });

function answerOf(url: string, status: number, text: string): Answer {
  const parsed = text === '' ? null : parseJson(new TextEncoder().encode(text));
  const body = parsed?.ok ? parsed.value : undefined;
  if (status < 300 && (text === '' || parsed?.ok)) return { ok: true, text, body };
  const error = errorBody.safeParse(body);
  if (!error.success) {
    const problem = `${url} does not answer as Signpost does (status ${status})`;
    return { ok: false, refusal: failed(oneLine(problem)) };
  }
  const { code, message } = error.data;
  return {
    ok: false,
    refusal: failed(oneLine(`${message} (${code})`)),
    code,
    message: oneLine(message),
  };
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
