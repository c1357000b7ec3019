import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { wireTypes } from '../pipeline/json.ts';
import type { JsonSchema } from './model.ts';

export function createSchemaWriter() {
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
    /** Allows additional fields, so responses can grow without a new version. */
    output: write('output'),
    /** In alphabetical order. */
    components: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** A schema with an `id` becomes a component. Throws if a name has two shapes. */
export type SchemaWriter = ReturnType<typeof createSchemaWriter>;

/** Writing a schema takes a millisecond, and most are reused. */
function once<From extends object, To>(act: (from: From) => To): (from: From) => To {
  const known = new Map<From, To>();
  return (from) => {
    const result = known.get(from) ?? act(from);
    known.set(from, result);
    return result;
  };
}

type Written = { readonly zodSchema: z.core.$ZodType; readonly jsonSchema: JsonSchema };

/** Replaces zod's output by the entry in `wireTypes`; keeps the description. */
function showWireType({ zodSchema, jsonSchema }: Written): void {
  const wire = wireTypes.get(zodSchema);
  if (wire === undefined) return;
  const { description } = jsonSchema;
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, wire, description !== undefined && { description });
}

/** Responses can get fields without a new version. */
function open(written: Written): void {
  showWireType(written);
  if (written.jsonSchema.additionalProperties === false) {
    delete written.jsonSchema.additionalProperties;
  }
}

/** Points references at the document's components. */
function inPlace(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text) as JsonSchema; // only the references changed
}

function keep(found: Map<string, JsonSchema>, name: string, shape: JsonSchema): void {
  const known = found.get(name);
  if (known !== undefined && !isDeepStrictEqual(known, shape)) {
    throw new Error(
      `two different schemas are named ${name}, or its request and response forms differ`,
    );
  }
  found.set(name, shape);
}
