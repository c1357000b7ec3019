/** Validation whose refusals name every field that does not fit, at once, in words. */
import type { z } from 'zod';

/** The value as its schema makes it, or every problem with it in one line. */
export type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: string };

const MAX_PROBLEMS = 20; // our choice: a hostile body must not be answered with a longer one
/** Names of unknown fields are the client's own text, and are cut. */
const MAX_NAME_LENGTH = 64;

/**
 * The value as the schema makes it, or every problem in one line: `categoryId: is required; colour: is not a known field`.
 * At most 20 problems are named, then how many more there are. `unknownWords` are said of a field that the schema does not
 * have. Never throws.
 */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  unknownWords = 'is not a known field',
): Validated<T> {
  const parsed = schema.safeParse(value, { error: inWords, reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = parsed.error.issues.flatMap((issue) => problemsOf(issue, unknownWords));
  const shown = problems.slice(0, MAX_PROBLEMS).join('; ');
  const more = problems.length - MAX_PROBLEMS;
  return { ok: false, problems: more > 0 ? `${shown}; and ${more} more` : shown };
}

/** The `error` option of a schema: `words`, or that the field is required where it is missing. */
export function inTheseWords(words: string): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : words);
}

/** The words for zod's own checks, where a schema brings none; undefined leaves zod's. */
function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return undefined; // problemsOf words these
  if (issue.input === undefined) return 'is required';
  if (issue.code === 'invalid_type') return kindWords[issue.expected] ?? 'is of the wrong type';
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  return undefined;
}

/** By the kind of value that zod expected. */
const kindWords: Readonly<Record<string, string>> = {
  string: 'must be a string',
  number: 'must be a number',
  bigint: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
};

/** One problem for each issue, and one for each unknown field. */
function problemsOf(issue: z.core.$ZodIssue, unknownWords: string): readonly string[] {
  if (issue.code !== 'unrecognized_keys') return [`${nameOf(issue.path)}: ${issue.message}`];
  return issue.keys.map((key) => `${nameOf([...issue.path, key])}: ${unknownWords}`);
}

/** `redirects[0].from`, at most 64 characters of it; the value as a whole is called `body`. */
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

/** Every path parameter there may be, as the document shows it. Nothing here validates: the handlers do. */
export const params = {
  petId: {
    description: 'ID of the animal to retrieve',
    schema: { type: 'integer', format: 'int64' },
    example: 42,
  },
  accountId: {
    description: 'ID of the account',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1e0-4b1d-4f0a-8c2e-6a9d3e5f7b21',
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
  sessionId: {
    description: 'ID of the session',
    schema: { type: 'string', format: 'uuid' },
    example: '0198c1e0-5a2c-4d3b-9e1f-7b8a2c4d6e90',
  },
  section: {
    description: 'A tag of this document, in lower case',
    schema: { type: 'string' },
    example: 'domains',
  },
} as const satisfies Readonly<Record<string, Param>>;

/** The name of a path parameter. */
export type ParamName = keyof typeof params;
