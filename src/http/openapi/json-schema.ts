/** Converts zod schemas to JSON Schema. Named schemas become components of the document. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { wireTypes } from '../pipeline/json.ts';
import type { JsonSchema } from './model.ts';

/**
 * Writes schemas as JSON Schema. A schema with an `id` becomes a component and is referenced
 * everywhere. `input` and `output` throw if a name already has a different shape, and return the
 * same object for the same schema.
 */
export type SchemaWriter = {
  /** The schema of a request. */
  readonly input: (schema: z.ZodType) => JsonSchema;
  /**
   * The schema of a response. It allows more fields, so that responses can grow without a new
   * version.
   */
  readonly output: (schema: z.ZodType) => JsonSchema;
  /** The named schemas so far, in alphabetical order. */
  readonly components: () => Readonly<Record<string, JsonSchema>>;
};

export function createSchemaWriter(): SchemaWriter {
  const found = new Map<string, JsonSchema>();
  const write = (io: 'input' | 'output') =>
    once((schema: z.ZodType) => {
      // Wrapped in an array, so that a named schema becomes a reference.
      const { items, $defs = {} } = inPlace(
        z.toJSONSchema(z.array(schema), {
          io,
          override: io === 'output' ? open : showWireType,
          unrepresentable: 'any', // `wireTypes` describes these
        }),
      );
      for (const [name, shape] of Object.entries($defs)) keep(found, name, shape);
      return items as JsonSchema; // an array of one type has one item schema
    });
  return {
    input: write('input'),
    output: write('output'),
    components: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Caches the result: writing a schema takes a millisecond, and most are reused. */
function once<From extends object, To>(act: (from: From) => To): (from: From) => To {
  const known = new Map<From, To>();
  return (from) => {
    const result = known.get(from) ?? act(from);
    known.set(from, result);
    return result;
  };
}

/** A schema and its JSON Schema, which is changed in place. */
type Written = { readonly zodSchema: z.core.$ZodType; readonly jsonSchema: JsonSchema };

/** Replaces zod's output by the entry in `wireTypes`; keeps the description. */
function showWireType({ zodSchema, jsonSchema }: Written): void {
  const wire = wireTypes.get(zodSchema);
  if (wire === undefined) return;
  const { description } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, wire, description !== undefined && { description });
}

/** Responses can get fields without a new version, so their objects are open. */
function open(written: Written): void {
  showWireType(written);
  if (written.jsonSchema.additionalProperties === false) {
    delete written.jsonSchema.additionalProperties;
  }
}

/** The same schema, with references to the document's components. */
function inPlace(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text) as JsonSchema; // only the references changed
}

/** Adds a component, or checks that the existing one has the same shape. */
function keep(found: Map<string, JsonSchema>, name: string, shape: JsonSchema): void {
  const known = found.get(name);
  if (known !== undefined && !isDeepStrictEqual(known, shape)) {
    throw new Error(
      `two different schemas are named ${name}, or its request and response forms differ`,
    );
  }
  found.set(name, shape);
}
