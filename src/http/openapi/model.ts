/** The part of OpenAPI 3.1 that our document uses (https://spec.openapis.org/oas/v3.1.0). */
import type { z } from 'zod';
import type { Stability, Tag } from '../pipeline/route.ts';

/** A JSON Schema, as zod types what it writes. */
export type JsonSchema = z.core.JSONSchema.JSONSchema;
/** A reference to a component of the same document: `#/components/schemas/Pet`. */
export type Ref = { readonly $ref: string };

/** `x-addition`: what the interface document does not list. */
type Extensible = { readonly 'x-addition'?: true };

/** A header of an answer. Without `required`, it may be missing. */
export type Header = Extensible & {
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

/** What a request carries outside of its body. Without `required`, it may be left out. */
export type Parameter = Extensible & {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: true;
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

/** A shared example; `value` is the body as a value. */
export type Example = { readonly value: unknown };

/** A body: its schema, and one example in place or several by reference. */
export type MediaType = {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Ref>>;
};

/** What an operation answers with one status. Without `content`, the answer has no body. */
export type Response = Extensible & {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header | Ref>>;
  readonly content?: Readonly<Record<string, MediaType>>;
};

/** One method of one path. */
export type Operation = Extensible & {
  readonly operationId: string;
  /** Exactly one, so that each operation is on one page. */
  readonly tags: readonly [Tag];
  readonly summary: string;
  readonly description: string;
  /** Missing: it is not deprecated. */
  readonly deprecated?: true;
  readonly 'x-stability': Stability;
  /** A scope or `any`; missing where no key is needed. */
  readonly 'x-required-scope'?: string;
  /** Empty: no key is needed. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<'application/json', MediaType>>;
  };
  /** By status; `default` is what any request can run into. */
  readonly responses: Readonly<Record<string, Response | Ref>>;
};

/** Where the API is reached. The URL may be relative to where the document is read. */
export type Server = { readonly url: string; readonly description: string };

/** The methods of operations, in the order in which those of one path are shown. */
export const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** A method as the document writes it, in lower case. */
export type Verb = (typeof verbs)[number];

/** The operations of one path. `servers` stand in for the document's, where the path carries no version. */
export type PathItem = { readonly servers?: readonly Server[] } & {
  readonly [V in Verb]?: Operation;
};

/** The whole document, as it is served at `/openapi.json`. */
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
  /** By path, below the URL of a server: `/pets/{petId}`. */
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
