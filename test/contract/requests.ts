/** What the contract tests ask: a request as its caller thinks of it, and the cases that are made of them. */
import type { Context } from './context.ts';
import type { DocumentedOperation } from './document.ts';

export const NO_PROJECT = '00000000-0000-4000-8000-000000000000';
/** Of an account that there is not. */
export const NO_ACCOUNT = '00000000-0000-4000-8000-00000000dead';

/** The parts of a request that an operation leaves open; `json` and `text` are bodies. */
export type Ask = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly text?: string;
};

/** A request that is made once there is something to ask for. */
export type Asking = (context: Context) => Ask;

/** One request, and the answer that the document promises for it. */
export type Case = {
  readonly operation: DocumentedOperation;
  readonly status: number;
  /** Of the Error body; null where the answer has none. */
  readonly code: string | null;
  /** Whether the document allows the request. One that it does not allow must be refused by the service, too. */
  readonly fits: boolean;
  readonly asking: Asking;
};

/** `addDomain 409 domain_exists`. */
export function titleOf({ operation, status, code }: Case): string {
  return [operation.operationId, status, ...(code === null ? [] : [code])].join(' ');
}

/** The same request with the caller's key, where the operation needs one and the request has none of its own. */
export function withKey(operation: DocumentedOperation, asking: Asking): Asking {
  if (operation.scope === null) return asking;
  return (context) => {
    const ask = asking(context);
    return { ...ask, headers: { authorization: `Bearer ${context.key}`, ...ask.headers } };
  };
}

/** The same request with more headers. */
export function adding(ask: Ask, headers: Readonly<Record<string, string>>): Ask {
  return { ...ask, headers: { ...ask.headers, ...headers } };
}

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** Asks over HTTP. `base` is the URL that the operation's path is appended to. */
export async function send(
  base: string,
  { method, path }: DocumentedOperation,
  { params = {}, query, headers, json, text }: Ask,
): Promise<Answer> {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`${method} ${path}: no value for ${name}`);
    return encodeURIComponent(value);
  });
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
  const response = await fetch(`${base}${target}${search}`, {
    method,
    headers: { ...headers, ...contentType({ json, text }) },
    body: json === undefined ? (text ?? null) : JSON.stringify(json),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The type that a body is sent as; nothing where there is no body. */
export function contentType({
  json,
  text,
}: {
  readonly json: object | undefined;
  readonly text: string | undefined;
}): { readonly 'content-type'?: string } {
  if (json !== undefined) return { 'content-type': 'application/json' };
  return text === undefined ? {} : { 'content-type': 'text/plain' };
}
