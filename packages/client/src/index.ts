/** Typed client of Signpost's API. `schema.ts` is generated from the OpenAPI document. */
// biome-ignore lint/performance/noBarrelFile: it is the entry of the package
export { createSignpost, type Signpost, type SignpostOptions } from './client.ts';
export {
  type ErrorOf,
  type FieldError,
  type SignpostError,
  SignpostRefusal,
  unwrap,
} from './errors.ts';
export { pages } from './pages.ts';
export type { components, operations, paths } from './schema.ts';
export { type SignedRequest, verifyRequest } from './verify-request.ts';
export { InvalidMessage, verifyWebhook, type WebhookMessage } from './verify-webhook.ts';
