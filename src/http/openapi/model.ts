/** The part of OpenAPI 3.1 that the document uses (https://spec.openapis.org/oas/v3.1.0). */
import type { z } from 'zod';
import type { Stability, Tag } from '../pipeline/route.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;
/** `#/components/schemas/Pet`. */
export type Ref = { readonly $ref: string };

/** `x-addition` marks what docs/interface.md does not define. */
type Extensible = { readonly 'x-addition'?: true };

export type Header = Extensible & {
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

export type Parameter = Extensible & {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: true;
  /** An object as `name[key]=value`. */
  readonly style?: 'deepObject';
  readonly explode?: true;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

export type Example = { readonly value: unknown };

/** Has either one inline example or several referenced ones. */
export type MediaType = {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Ref>>;
};

/** Without `content`, the response has no body. */
export type Response = Extensible & {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header | Ref>>;
  readonly content?: Readonly<Record<string, MediaType>>;
};

export type Operation = Extensible & {
  readonly operationId: string;
  /** Exactly one, so that each operation is on one page. */
  readonly tags: readonly [Tag];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: true;
  readonly 'x-stability': Stability;
  /** A scope or `any`; missing if no key is required. */
  readonly 'x-required-scope'?: string;
  /** Empty: no key is required. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<'application/json', MediaType>>;
  };
  readonly responses: Readonly<Record<string, Response | Ref>>;
};

/** Without a key: the message is signed. */
export type WebhookOperation = Omit<
  Operation,
  'deprecated' | 'x-required-scope' | 'x-stability' | 'parameters'
> & { readonly 'x-stability': 'stable'; readonly parameters: readonly Parameter[] };

/** The URL can be relative to the document's location. */
export type Server = { readonly url: string; readonly description: string };

export const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Verb = (typeof verbs)[number];

/** `servers` overrides the document's servers for paths outside `/v1`. */
export type PathItem = { readonly servers?: readonly Server[] } & {
  readonly [V in Verb]?: Operation;
};

export type OpenApiDocument = {
  readonly openapi: '3.1.0';
  /** `description` is Markdown (refusals.ts). */
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly Server[];
  readonly tags: readonly { readonly name: Tag; readonly description: string }[];
  /** Requests that receivers get. */
  readonly webhooks: Readonly<Record<string, { readonly post: WebhookOperation }>>;
  /** Relative to a server URL: `/pets/{petId}`. */
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly examples: Readonly<Record<string, Example>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
};
