/** From the schemas that validate to JSON Schema; named ones become components of the document. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { wireTypes } from '../pipeline/json.ts';
import type { JsonSchema } from './model.ts';

/**
 * Writes schemas as JSON Schema. One with an `id` becomes a component, and a reference wherever it occurs. `input` and
 * `output` throw where a name that was written before has another shape now, and return the same object for the same schema.
 */
export type SchemaWriter = {
  /** What a client may send. */
  readonly input: (schema: z.ZodType) => JsonSchema;
  /** What a client is sent. It may get fields that are not listed: an answer grows without a new version. */
  readonly output: (schema: z.ZodType) => JsonSchema;
  /** The named schemas that were met so far, in the order of their names. */
  readonly components: () => Readonly<Record<string, JsonSchema>>;
};

/** A writer that has met no schema yet. */
export function createSchemaWriter(): SchemaWriter {
  const found = new Map<string, JsonSchema>();
  const write = (io: 'input' | 'output') =>
    once((schema: z.ZodType) => {
      // Inside of an array, a named schema is referred to like any other.
      const { items, $defs = {} } = inPlace(
        z.toJSONSchema(z.array(schema), {
          io,
          override: io === 'output' ? open : showWireType,
          unrepresentable: 'any', // what it is on the wire is in `wireTypes`
        }),
      );
      for (const [name, shape] of Object.entries($defs)) keep(found, name, shape);
      return items as JsonSchema; // one schema, as an array of one kind has
    });
  return {
    input: write('input'),
    output: write('output'),
    components: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Writing a schema takes a millisecond, and the same few are used everywhere. */
function once<From extends object, To>(act: (from: From) => To): (from: From) => To {
  const known = new Map<From, To>();
  return (from) => {
    const result = known.get(from) ?? act(from);
    known.set(from, result);
    return result;
  };
}

/** A schema and what zod has written of it, to be changed in place. */
type Written = { readonly zodSchema: z.core.$ZodType; readonly jsonSchema: JsonSchema };

/** Replaces what zod wrote by what `wireTypes` says of the schema; its description stays. */
function showWireType({ zodSchema, jsonSchema }: Written): void {
  const wire = wireTypes.get(zodSchema);
  if (wire === undefined) return;
  const { description } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, wire, description !== undefined && { description });
}

/** An answer may get fields without a new version, so its objects are not closed. */
function open(written: Written): void {
  showWireType(written);
  if (written.jsonSchema.additionalProperties === false) {
    delete written.jsonSchema.additionalProperties;
  }
}

/** The same schema, its references leading to the document's components. */
function inPlace(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text) as JsonSchema; // what it was, but for the references
}

/** Adds a component, or checks that the one with this name has the same shape. */
function keep(found: Map<string, JsonSchema>, name: string, shape: JsonSchema): void {
  const known = found.get(name);
  if (known !== undefined && !isDeepStrictEqual(known, shape)) {
    throw new Error(
      `two schemas are called ${name}, or one that answers and bodies write differently`,
    );
  }
  found.set(name, shape);
}
