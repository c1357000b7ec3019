import { z } from 'zod';
import type { Actor } from '../../core/diagnosis/findings.ts';
import { accountLimitNames } from '../../core/operations/account-limits.ts';
import { type ErrorCode, errors, fieldProblems } from '../pipeline/errors.ts';
import { wholeNumber } from '../pipeline/json.ts';

// Every key of the table is an ErrorCode.
const errorCodes = Object.keys(errors) as readonly ErrorCode[];

const fieldError = component('FieldError', 'A wrong field of the request', {
  field: z
    .string()
    .describe('Path of the field such as `redirects[0].from`, or name of the parameter'),
  code: explainedEnum('FieldErrorCode', 'What is wrong with the field', fieldProblems),
  message: z.string().describe('Human-readable message; may change'),
});

export const error = component('Error', 'Why the request failed', {
  code: z.enum(errorCodes).meta({
    id: 'ErrorCode',
    description: 'Machine-readable error code',
    'x-enumDescriptions': Object.fromEntries(errorCodes.map((code) => [code, errors[code][1]])),
  }),
  message: z.string().describe('Human-readable message; may change'),
  status: wholeNumber({ min: 400, max: 599 }).describe('The HTTP status code'),
  errors: z.array(fieldError).optional().meta({
    description: 'Each wrong field; only with codes about fields or the key',
    'x-addition': true,
  }),
  limit: z
    .object({
      name: z.enum(accountLimitNames).describe('Name of the limit'),
      value: wholeNumber({ min: 1, max: 999_999_999 }).describe('Its value'),
    })
    .optional()
    .meta({ description: 'The reached limit of the account', 'x-addition': true }),
  requestId: z.string().optional().meta({
    description: 'The X-Request-Id; of the first request if the response is replayed',
    'x-addition': true,
  }),
  docs: z
    .string()
    .optional()
    .meta({ description: 'Link to the documentation of the code', 'x-addition': true }),
});

/** The OpenAPI component `id`. Responses can get fields without a new version. */
export function component<Fields extends z.core.$ZodLooseShape>(
  id: string,
  description: string,
  fields: Fields,
) {
  return z.object(fields).meta({ id, description });
}

/** The same of a request, in which unknown fields are refused. */
export function requestComponent<Fields extends z.core.$ZodLooseShape>(
  id: string,
  description: string,
  fields: Fields,
) {
  return z.strictObject(fields).meta({ id, description });
}

/** `id`: the OpenAPI component. Use `satisfies` on the words to cover a type exactly. */
export function explainedEnum<const Words extends Readonly<Record<string, string>>>(
  id: string,
  description: string,
  words: Words,
) {
  // Object.keys widens the key type to string.
  const values = Object.keys(words) as readonly (keyof Words & string)[];
  return z.enum(values).meta({ id, description, 'x-enumDescriptions': words });
}

/** Human-readable text. Clients must not parse it. */
export const sentence = (description: string) => z.string().describe(description);

/** `platform` is the operator of this installation. */
export const actor = explainedEnum('Actor', 'Who needs to act', {
  customer: "The customer, who manages the domain's DNS",
  dns_provider: "The provider that runs the domain's name servers",
  platform: 'We',
} satisfies Readonly<Record<Actor, string>>);
