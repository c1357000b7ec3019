/** One route as an OpenAPI operation. */
import type { Route } from '../pipeline/route.ts';
import type { SchemaWriter } from './json-schema.ts';
import type { Operation } from './model.ts';
import { parametersOf } from './parameters.ts';
import { responsesOf } from './responses.ts';

/** The name of the bearer scheme among the components. */
export const SECURITY_SCHEME = 'bearer';

export function operationOf(route: Route, schemas: SchemaWriter): Operation {
  const { operationId, tag, summary, deprecated, stability, scope, original } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route),
    ...(deprecated && { deprecated }),
    'x-stability': stability,
    ...(original === undefined && ({ 'x-addition': true } as const)),
    ...(scope !== null && { 'x-required-scope': scope }),
    security: scope === null ? [] : [{ [SECURITY_SCHEME]: [] }],
    parameters: parametersOf(route, schemas),
    ...requestBodyOf(route, schemas),
    responses: responsesOf(route, schemas),
  };
}

function descriptionOf({ description, scope }: Route): string {
  const key = needsKey(scope);
  return description === undefined ? key : `${description}\n\n${key}`;
}

function needsKey(scope: Route['scope']): string {
  if (scope === null) return 'Needs no key.';
  return scope === 'any'
    ? 'Needs any key, whatever its scopes.'
    : `Needs a key with the scope \`${scope}\`.`;
}

function requestBodyOf({ body, bodyExample, bodyIsOptional }: Route, schemas: SchemaWriter) {
  if (body === undefined) return {};
  const json = { schema: schemas.input(body), example: bodyExample };
  return {
    requestBody: { required: bodyIsOptional !== true, content: { 'application/json': json } },
  };
}
