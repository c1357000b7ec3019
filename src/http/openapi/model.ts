/** The part of OpenAPI 3.1 that our document uses (https://spec.openapis.org/oas/v3.1.0). */
import type { z } from 'zod';
import type { Stability, Tag } from '../pipeline/route.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;
export type Ref = { readonly $ref: string };

/** `x-addition`: what the interface document does not list. */
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
  readonly schema: JsonSchema;
  readonly example?: unknown;
};

export type Example = { readonly value: unknown };

export type MediaType = {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Ref>>;
};

export type Response = Extensible & {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header | Ref>>;
  readonly content?: Readonly<Record<string, MediaType>>;
};

export type Operation = Extensible & {
  readonly operationId: string;
  readonly tags: readonly [Tag];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: true;
  readonly 'x-stability': Stability;
  readonly 'x-required-scope'?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<'application/json', MediaType>>;
  };
  readonly responses: Readonly<Record<string, Response | Ref>>;
};

export type Server = { readonly url: string; readonly description: string };

export const verbs = ['get', 'post', 'put', 'patch', 'delete'] as const;
export type Verb = (typeof verbs)[number];

export type PathItem = { readonly servers?: readonly Server[] } & {
  readonly [V in Verb]?: Operation;
};

export type OpenApiDocument = {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly Server[];
  readonly tags: readonly { readonly name: Tag; readonly description: string }[];
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
