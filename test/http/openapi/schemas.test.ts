import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { buildDocument } from '../../../src/http/openapi/document.ts';
import { createSchemaWriter } from '../../../src/http/openapi/json-schema.ts';
import type { JsonSchema } from '../../../src/http/openapi/model.ts';
import {
  int64,
  nameText,
  queryInteger,
  text,
  time,
  wholeNumber,
} from '../../../src/http/pipeline/json.ts';
import { validate } from '../../../src/http/pipeline/validate.ts';
import { renderJson } from '../../../src/net/json.ts';
import { everyRoute } from '../../support/every-route.ts';

describe('A schema in the document', () => {
  const described = { description: 'in words' };
  const table: readonly (readonly [string, z.ZodType, JsonSchema])[] = [
    ['an int64', int64(), { type: 'integer', format: 'int64' }],
    [
      'a bounded number',
      wholeNumber({ min: 0, max: 9 }),
      { type: 'integer', minimum: 0, maximum: 9 },
    ],
    [
      'a limit in a query',
      queryInteger({ min: 1, max: 100, default: 20 }),
      { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    ],
    ['a time', time(), { type: 'string', format: 'date-time' }],
    [
      'a text',
      text({ max: 255 }),
      { type: 'string', minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' },
    ],
    [
      'a display name',
      nameText({ max: 255 }),
      {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern:
          '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]*$',
      },
    ],
    [
      'a schema with a description',
      int64().meta(described),
      { type: 'integer', format: 'int64', ...described },
    ],
    ['a named schema', z.string().meta({ id: 'Word' }), { $ref: '#/components/schemas/Word' }],
    [
      'a named schema in a list',
      z.array(z.string().meta({ id: 'Word' })),
      { type: 'array', items: { $ref: '#/components/schemas/Word' } },
    ],
  ];
  test.each(table)('describes %s for clients', (_name, schema, written) => {
    expect(createSchemaWriter().input(schema)).toEqual(written);
    expect(createSchemaWriter().output(schema)).toEqual(written);
  });

  it('forbids extra fields in bodies and allows them in responses', () => {
    const schema = z.strictObject({ a: z.string() });
    const shape = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    expect(createSchemaWriter().input(schema)).toEqual({ ...shape, additionalProperties: false });
    expect(createSchemaWriter().output(schema)).toEqual(shape);
  });

  it('is referenced by name, in the order of the names', () => {
    const schemas = createSchemaWriter();
    schemas.input(z.string().meta({ id: 'Word' }));
    schemas.output(z.object({ n: z.number().meta({ id: 'Count' }) }));
    expect(Object.entries(schemas.components())).toEqual([
      ['Count', { type: 'number' }],
      ['Word', { type: 'string' }],
    ]);
  });

  it('rejects two shapes under one name', () => {
    const schemas = createSchemaWriter();
    const both = z.strictObject({ a: z.string() }).meta({ id: 'Both' });
    schemas.input(both);
    expect(() => schemas.output(both)).toThrow('Both');
  });
});

describe('A whole number in a query', () => {
  const limit = z.strictObject({ limit: queryInteger({ min: 1, max: 100, default: 20 }) });
  test.each([
    ['1', 1],
    ['20', 20],
    ['100', 100],
  ])('accepts %s', (given, value) => {
    expect(validate(limit, { limit: given })).toEqual({ ok: true, value: { limit: value } });
  });
  test.each([
    '0',
    '101',
    '-1',
    '+1',
    '01',
    '1.0',
    '1e1',
    ' 1',
    '1 ',
    '',
    '0x1',
    '１',
    '9'.repeat(40),
  ])('rejects %j', (given) => {
    const problems = 'limit: must be a whole number from 1 to 100';
    const errors = [{ field: 'limit', code: 'invalid', message: problems.slice('limit: '.length) }];
    expect(validate(limit, { limit: given })).toEqual({ ok: false, problems, errors });
  });
  test('uses the default when missing', () => {
    expect(validate(limit, {})).toEqual({ ok: true, value: { limit: 20 } });
  });
});

test('every schema of the document constrains its values', () => {
  const { components, paths } = buildDocument(everyRoute(), {
    baseUrl: undefined,
    stagingUrl: undefined,
  });
  const schemas = Object.entries(components.schemas);
  expect(schemas.length).toBeGreaterThan(20);
  expect(schemas.flatMap(([name, schema]) => vague(name, schema))).toEqual([]);
  expect(renderJson(paths)).not.toMatch(/"schema":\{\}|\$defs/);
});

/** The paths at which a schema does not constrain its values. */
function vague(path: string, schema: JsonSchema | boolean): string[] {
  if (typeof schema === 'boolean') return [path];
  const { $ref, type, enum: values, anyOf = [], oneOf = [], properties = {}, items } = schema;
  const says = $ref ?? type ?? values ?? [...anyOf, ...oneOf][0];
  const inner = [
    ...Object.entries(properties),
    ...[...anyOf, ...oneOf].map((one, index) => [`(${index})`, one] as const),
    ...(items === undefined || Array.isArray(items) ? [] : [['[]', items] as const]),
  ];
  return [
    ...(says === undefined ? [path] : []),
    ...inner.flatMap(([name, one]) => vague(`${path}.${name}`, one)),
  ];
}
