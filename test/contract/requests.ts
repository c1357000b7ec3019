import type { Context } from './context.ts';
import type { DocumentedOperation } from './document.ts';

/** The variable parts of a request; `json` and `text` are bodies. */
export type Ask = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly text?: string;
};

/** Builds a request from the context. */
export type Asking = (context: Context) => Ask;

/** A request and its documented response. */
export type Case = {
  readonly operation: DocumentedOperation;
  readonly status: number;
  /** Of the Error body; null if there is none. */
  readonly code: string | null;
  /** Whether the document allows the request. If not, the service must reject it, too. */
  readonly fits: boolean;
  readonly asking: Asking;
};

/** `addDomain 409 domain_exists`. */
export function titleOf({ operation, status, code }: Case): string {
  return [operation.operationId, status, ...(code === null ? [] : [code])].join(' ');
}

/** The same request with the caller's key, if the operation needs one and the request has none. */
export function withKey(operation: DocumentedOperation, asking: Asking): Asking {
  if (operation.scope === null) return asking;
  return (context) => {
    const ask = asking(context);
    return { ...ask, headers: { authorization: `Bearer ${context.key}`, ...ask.headers } };
  };
}

export function adding(ask: Ask, headers: Readonly<Record<string, string>>): Ask {
  return { ...ask, headers: { ...ask.headers, ...headers } };
}

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

/** Sends it over HTTP. `base` is the URL in front of the operation's path. */
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

/** The content type of a body; undefined without one. */
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
