/** The parameters of an operation: of its path, its query and its headers. */

import type { Route } from '../pipeline/route.ts';
import { type ParamName, params } from '../pipeline/validate.ts';
import type { SchemaWriter } from './json-schema.ts';
import type { JsonSchema, Parameter, Ref } from './model.ts';
import { hasEntityTag, takesIdempotencyKey } from './refusals.ts';

/** Headers that many operations read. The interface document lists none. */
export const sharedParameters = {
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your own for this request: sent again with the same key, it has its effect once and its answer each time, for 24 hours. In quotes, or bare.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    'x-addition': true,
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the version that the change is made to: where it is not the same any more, the answer is 412 and nothing changes',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of the version that you have: the answer is 304 while it is the same',
    schema: { type: 'string' },
    example: '"mVUWqXkP0pSxLTQ0Hl3xXOyvDbE"',
    'x-addition': true,
  },
  'Last-Event-ID': {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The number of the last event that you have: everything after it comes first',
    schema: { type: 'string', pattern: '^[0-9]{1,40}$' },
    example: '41',
    'x-addition': true,
  },
} as const satisfies Readonly<Record<string, Parameter>>;

export function parametersOf(route: Route, schemas: SchemaWriter): readonly (Parameter | Ref)[] {
  const own = [...pathParameters(route), ...queryParameters(route, schemas)];
  const original = route.original?.parameters;
  return [
    ...own.map((parameter) =>
      original === undefined || original.includes(parameter.name)
        ? parameter
        : ({ ...parameter, 'x-addition': true } as const),
    ),
    ...(route.takesPreconditions ? [shared('If-Match')] : []),
    ...(hasEntityTag(route) ? [shared('If-None-Match')] : []),
    ...(route.takesLastEventId ? [shared('Last-Event-ID')] : []),
    ...(takesIdempotencyKey(route) ? [shared('Idempotency-Key')] : []),
  ];
}

/** `/v1/pets/:petId` gives `petId`. */
export function pathParameterNames(path: string): readonly ParamName[] {
  // The declaration of a route asks for names that params.ts describes.
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name as ParamName);
}

function pathParameters({ path }: Route): readonly Parameter[] {
  return pathParameterNames(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    ...params[name],
  }));
}

function queryParameters({ query }: Route, schemas: SchemaWriter): readonly Parameter[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemas.input(query);
  return Object.entries(properties).map(([name, property]) => {
    const { description = '', example, ...schema } = property as JsonSchema; // no query has a `true` for a schema
    const must = required.includes(name) ? ({ required: true } as const) : {};
    const shown = example === undefined ? {} : { example };
    return { name, in: 'query', description, ...must, schema, ...shown };
  });
}

function shared(name: keyof typeof sharedParameters): Ref {
  return { $ref: `#/components/parameters/${name}` };
}
