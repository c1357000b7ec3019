import type { Context } from './context.ts';
import { type Ask, type Case, contentType } from './requests.ts';

/** Cases with the service and document to check them against. */
export type Held = {
  readonly document: string;
  readonly origin: string;
  readonly cases: readonly Case[];
  readonly context: Context;
};

/**
 * Arazzo 1.0.1 (https://spec.openapis.org/arazzo/v1.0.1). One workflow per case, so that a failure does not stop the
 * others.
 */
export function describeCases(all: readonly Held[], fileOf: (document: string) => string) {
  const source = ({ document, origin }: Held, name: string, base: string) => ({
    name,
    type: 'openapi',
    url: fileOf(document),
    'x-serverUrl': `${origin}${base}`,
  });
  return {
    arazzo: '1.0.1',
    info: { title: 'Every operation and every answer of it', version: '1.0.0' },
    sourceDescriptions: all.flatMap((held, place) => [
      source(held, `versioned${place}`, '/v1'),
      source(held, `root${place}`, ''),
    ]),
    workflows: all.flatMap(({ cases, context }, place) =>
      cases.map((one, index) => ({
        workflowId: workflowId(place, index),
        steps: [{ stepId: 'only', ...stepOf(one, one.asking(context), place) }],
      })),
    ),
  };
}

/** The workflow id of a case, from its index and that of its list. */
export function workflowId(place: number, index: number): string {
  return `case-${place}-${index}`;
}

function stepOf({ operation, status, code }: Case, ask: Ask, place: number) {
  const { params, query, headers, json, text } = ask;
  const payload = json ?? text;
  const parameters = [
    ...inPlace('path', params),
    ...inPlace('query', query),
    ...inPlace('header', headers),
  ];
  const source = `${operation.base === '/v1' ? 'versioned' : 'root'}${place}`;
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
