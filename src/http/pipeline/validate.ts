import type { z } from 'zod';
import type { FieldError } from './errors.ts';

export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: string; readonly errors: readonly FieldError[] };

const MAX_PROBLEMS = 20; // bounds the response to a hostile body
/** Unknown field names are client text and are truncated. */
const MAX_NAME_LENGTH = 64;

/** `problems`: `categoryId: is required; color: is not a known field`. Never throws. */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  unknownWords = 'is not a known field',
): Validated<T> {
  const parsed = schema.safeParse(value, { error: inWords, reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  const all = parsed.error.issues.flatMap((issue) => errorsOf(issue, unknownWords));
  const errors = all.slice(0, MAX_PROBLEMS);
  const shown = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  const more = all.length - MAX_PROBLEMS;
  return { ok: false, problems: more > 0 ? `${shown}; and ${more} more` : shown, errors };
}

/** As `validate`; a field below a parameter is `metadata[customer]`. */
export function validateQuery<T>(
  schema: z.ZodType<T>,
  value: unknown,
  unknownWords: string,
): Validated<T> {
  const validated = validate(schema, value, unknownWords);
  if (validated.ok) return validated;
  const errors = validated.errors.map(({ field, ...rest }) => {
    return { field: field.replace(/^([^.]+)\.(.*)$/, '$1[$2]'), ...rest };
  });
  const problems = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return { ok: false, errors, problems };
}

/** For a schema's `error` option. */
export function inTheseWords(words: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : words);
}

/** Undefined keeps zod's own text. */
function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return undefined; // problemsOf handles these
  if (issue.input === undefined) return 'is required';
  if (issue.code === 'invalid_type') return kindWords[issue.expected] ?? 'is of the wrong type';
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  return undefined;
}

const kindWords: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  bigint: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
};

function errorsOf(issue: z.core.$ZodIssue, unknownWords: string): readonly FieldError[] {
  if (issue.code !== 'unrecognized_keys') {
    return [{ field: nameOf(issue.path), code: codeOf(issue), message: issue.message }];
  }
  return issue.keys.map((key) => {
    return { field: nameOf([...issue.path, key]), code: 'unknown', message: unknownWords };
  });
}

function codeOf({ code, input }: z.core.$ZodIssue): FieldError['code'] {
  if (input === undefined && code !== 'custom') return 'required';
  if (code === 'invalid_type') return 'wrong_type';
  return code === 'invalid_value' ? 'not_allowed' : 'invalid';
}

/** `redirects[0].from`; the whole value is `body`. */
function nameOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'body';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
    .slice(0, MAX_NAME_LENGTH);
}

type Param = {
  readonly description: string;
  readonly schema: z.core.JSONSchema.JSONSchema;
  readonly example: unknown;
};

function uuidOf(what: string, example: string): Param {
  return { description: `ID of ${what}`, schema: { type: 'string', format: 'uuid' }, example };
}

export const params = {
  petId: {
    description: 'ID of the pet',
    schema: { type: 'integer', format: 'int64' },
    example: 42,
  },
  accountId: uuidOf('the account', '0198c1f0-2b1c-4d7e-8a3f-6c5d4e3f2a10'),
  projectId: uuidOf('the project', '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11'),
  deployId: uuidOf('the deploy', '0198c1f3-11aa-4d27-8f0e-5c1f9f2b7a30'),
  hostname: {
    description: 'Host name of the domain, in any spelling',
    schema: { type: 'string' },
    example: 'docs.example.com',
  },
  domainId: uuidOf('the domain', '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90'),
  escalationId: uuidOf('the escalation', '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60'),
  processId: uuidOf('the refused process', '0d4c7d5e-1111-4c4f-8a88-0a4f0b1f2a3c'),
  webhookId: uuidOf('the webhook', '0198c2a7-5d1e-4f60-9b1c-2f6e8a3d4c55'),
  keyId: {
    description: 'ID of the key: the part after `signpost_`',
    schema: { type: 'string' },
    example: 'x7Gk2mPq9LwZ',
  },
  sessionId: uuidOf('the session', '0198c1f5-4d2b-4b8e-9a6f-3e7d1c5b9f20'),
  section: {
    description: 'Name of a tag, in lower case',
    schema: { type: 'string' },
    example: 'domains',
  },
} as const satisfies Readonly<Record<string, Param>>;

export type ParamName = keyof typeof params;
