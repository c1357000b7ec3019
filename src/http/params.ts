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
  keyId: {
    description: 'ID of the key: the part after `signpost_`',
    schema: { type: 'string' },
    example: 'x7Gk2mPq9LwZ',
  },
} as const satisfies Readonly<Record<string, Param>>;

export type ParamName = keyof typeof params;
