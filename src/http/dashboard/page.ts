/** What a page of the dashboard is: a path, and a function from what was asked to what is shown. */
import type { Html } from '../html.ts';
import type { RawResponse } from '../render.ts';
import type { Headers } from '../route.ts';
import type { ApiClient } from './client.ts';
import type { Session } from './session.ts';

/** Paths of ours as the browser reaches them, below the base path. */
export type Link = (path: string) => string;

export type PageRequest = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** What a form of ours sent; empty for GET. */
  readonly form: URLSearchParams;
  readonly headers: Headers;
  readonly link: Link;
  readonly now: Date;
  /** The API for who brings this key. */
  readonly apiWith: (apiKey: string) => ApiClient;
};

export type SignedInRequest = PageRequest & {
  readonly session: Session;
  readonly api: ApiClient;
};

export type Shown = {
  readonly kind: 'page';
  readonly status?: number;
  readonly title: string;
  readonly main: Html;
  /** The stream of events after which the page is asked for again: a path of ours, and the types that count. */
  readonly events?: { readonly path: string; readonly types: readonly string[] };
  /** Where it stands below, the outermost first; the page itself is not among them. */
  readonly above?: readonly { readonly text: string; readonly path: string }[];
};

export type PageAnswer =
  | Shown
  /** Answered 303 (RFC 9110, 15.4.4): the browser asks for another page. `cookie`: a Set-Cookie value. */
  | { readonly kind: 'see_other'; readonly path: string; readonly cookie?: string }
  /** The API's own answer, passed on. */
  | { readonly kind: 'raw'; readonly response: RawResponse };

export type Page = (request: SignedInRequest) => Promise<PageAnswer>;

export type PageRoute =
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen?: false;
      readonly handle: Page;
    }
  /** For who is not signed in, too. */
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen: true;
      /** Its form is sent by who is not signed in, or was not yet when it was shown. */
      readonly hasNoToken?: true;
      readonly handle: (
        request: PageRequest & { readonly session: Session | null },
      ) => Promise<PageAnswer>;
    };
