import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './schema.ts';

export type SignpostOptions = {
  /** Ends with `/v1`, as BASE_URL of the service: `https://api.example.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Acts for this account with a key of the installation. */
  readonly accountId?: string;
  /** Replaces the global `fetch`, for example to retry 429 and 503. */
  readonly fetch?: (request: Request) => Promise<Response>;
};

/** `GET`, `POST` and so on, with paths as in the document: `/projects/{projectId}/domains`. */
export type Signpost = Client<paths>;

/** Never follows redirects, so the key stays with this service. Sends nothing yet. */
export function createSignpost({ baseUrl, apiKey, accountId, fetch }: SignpostOptions): Signpost {
  return createClient<paths>({
    baseUrl,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(accountId !== undefined && { 'signpost-account': accountId }),
    },
    redirect: 'error',
    ...(fetch !== undefined && { fetch }),
  });
}
