/** src/core/metadata.ts. */
import { z } from 'zod';
import { type MetadataProblem, metadataBytes, metadataMax } from '../../core/metadata.ts';
import { DISORDERLY } from '../../core/names/printable.ts';
import { text, wireTypes } from '../pipeline/json.ts';

const bytesMax = metadataMax.bytes.toLocaleString('en-US');
const words = `Your own data: up to ${metadataMax.keys} keys of up to ${metadataMax.key} characters, with texts of up to ${metadataMax.value} characters, together at most ${bytesMax} bytes in UTF-8`;
const keyWords = `must be a key of 1 to ${metadataMax.key} characters, without brackets, control characters or direction marks`;
const keyPattern = `^[^\\[\\]${DISORDERLY}]{1,${metadataMax.key}}$`;
const key = new RegExp(keyPattern, 'u');

const value = text({ max: metadataMax.value });
const valueOnWire = { type: 'string', minLength: 1, maxLength: metadataMax.value } as const;

const onWire = {
  type: 'object',
  propertyNames: { pattern: keyPattern, minLength: 1, maxLength: metadataMax.key },
  additionalProperties: valueOnWire,
  maxProperties: metadataMax.keys,
} as const;

/** In requests that set all of it. */
export const newMetadata = recordOf(value)
  .refine((given) => metadataBytes(given) <= metadataMax.bytes, {
    error: () => metadataProblems.metadata_too_large,
  })
  .register(wireTypes, onWire)
  .describe(`${words}. Events and webhooks repeat it`);

/** In requests that change some keys. */
export const metadataChange = recordOf(z.nullable(value))
  .register(wireTypes, {
    ...onWire,
    additionalProperties: { ...valueOnWire, type: ['string', 'null'] },
  })
  .describe(
    `Keys to set; null removes a key, and other keys stay. The result can have up to ${metadataMax.keys} keys and ${bytesMax} bytes`,
  );

/** As a query parameter: `metadata[customer]=42`. */
export const metadataFilter = recordOf(value)
  .register(wireTypes, onWire)
  .describe('Filter by metadata: each key must have this value');

/** In responses. */
export const metadata = z.record(z.string(), z.string()).describe('Your own data, as you set it');

/** Checks the keys first: `z.record` leaves out a key called `__proto__` without an error. */
function recordOf<Value extends z.ZodType>(valueType: Value) {
  return z.unknown().superRefine(checkKeys).pipe(z.record(z.string(), valueType));
}

function checkKeys(given: unknown, { addIssue }: z.core.$RefinementCtx): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
  const keys = Object.keys(given);
  for (const name of keys) {
    if (!key.test(name) || /\p{Surrogate}/u.test(name) || name === '__proto__') {
      addIssue({ code: 'custom', path: [name], message: keyWords });
    }
  }
  if (keys.length > metadataMax.keys)
    addIssue({ code: 'custom', message: metadataProblems.too_many_keys });
}

export const metadataProblems = {
  too_many_keys: `must have at most ${metadataMax.keys} keys`,
  metadata_too_large: `must have keys and values of at most ${bytesMax} bytes together, in UTF-8`,
} as const satisfies Record<MetadataProblem, string>;
