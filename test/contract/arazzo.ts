/** The cases as an Arazzo description, which Redocly respect runs. */
import type { Context } from './context.ts';
import { type Ask, type Case, contentType } from './requests.ts';

/** Arazzo 1.0.1 (https://spec.openapis.org/arazzo/v1.0.1). A workflow each, so that one that fails stops no other. */
export function describeCases(origin: string, cases: readonly Case[], context: Context) {
  const source = (name: string, base: string) => ({
    name,
    type: 'openapi',
    url: 'openapi.json',
    'x-serverUrl': `${origin}${base}`,
  });
  return {
    arazzo: '1.0.1',
    info: { title: 'Every operation and every answer of it', version: '1.0.0' },
    sourceDescriptions: [source('versioned', '/v1'), source('root', '')],
    workflows: cases.map((one, index) => ({
      workflowId: workflowId(index),
      steps: [{ stepId: 'only', ...stepOf(one, one.asking(context)) }],
    })),
  };
}

/** The workflow of a case, by its place in the list. */
export function workflowId(index: number): string {
  return `case-${index}`;
}

function stepOf({ operation, status, code }: Case, ask: Ask) {
  const { params, query, headers, json, text } = ask;
  const payload = json ?? text;
  const parameters = [
    ...inPlace('path', params),
    ...inPlace('query', query),
    ...inPlace('header', headers),
  ];
  const source = operation.base === '/v1' ? 'versioned' : 'root';
  return {
    operationId: `$sourceDescriptions.${source}.${operation.operationId}`,
    ...(parameters.length > 0 && { parameters }),
    ...(payload !== undefined && {
      requestBody: { contentType: contentType({ json, text })['content-type'], payload },
    }),
    successCriteria: [
      { condition: `$statusCode == ${status}` },
      ...(code === null ? [] : [{ condition: `$response.body#/code == '${code}'` }]),
    ],
  };
}

function inPlace(place: string, values: Readonly<Record<string, string>> = {}) {
  return Object.entries(values).map(([name, value]) => ({ in: place, name, value }));
}
