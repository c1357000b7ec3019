/** The parameters that paths have. Their values are checked by who looks them up: one that fits nothing is 404. */
import type { z } from 'zod';

type Param = {
  readonly description: string;
  readonly schema: z.core.JSONSchema.JSONSchema;
  readonly example: unknown;
};

export const params = {
  petId: {
    description: 'ID of the animal to retrieve',
    schema: { type: 'integer', format: 'int64' },
    example: 42,
  },
  projectId: {
    description: 'ID of the project',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  },
  hostname: {
    description: 'Host name of the domain, in any spelling',
    schema: { type: 'string' },
    example: 'docs.example.com',
  },
  domainId: {
    description: 'ID of the domain',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90',
  },
  escalationId: {
    description: 'ID of the escalation',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60',
  },
  webhookId: {
    description: 'ID of the webhook',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c2a7-5d1e-4f60-9b1c-2f6e8a3d4c55',
  },
  keyId: {
    description: 'ID of the key: the part after `signpost_`',
    schema: { type: 'string' },
    example: 'x7Gk2mPq9LwZ',
  },
  section: {
    description: 'A tag of this document, in lower case',
    schema: { type: 'string' },
    example: 'domains',
  },
} as const satisfies Readonly<Record<string, Param>>;

export type ParamName = keyof typeof params;
