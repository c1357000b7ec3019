/** The form that sends a request; script.ts shows it and sends it, without a script it stays hidden. */
import { stringify } from 'lossless-json';
import { type Html, html } from '../../../net/html.ts';
import { renderJson } from '../../../net/json.ts';
import type { JsonSchema, Operation, Parameter } from '../model.ts';
import { referred } from './schema-section.ts';

export type TryForm = {
  readonly verb: string;
  /** Relative to the page. */
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
};

export function tryForm({ verb, path, operation, parameters, schemas }: TryForm): Html {
  const { operationId, requestBody } = operation;
  return html`<form class="try" hidden autocomplete="off" data-method="${verb.toUpperCase()}" data-path="${path}" aria-label="Try ${operationId}">
<h3>Try it</h3>
${parameters.filter(isTried).map((parameter) => field(operationId, parameter, schemas))}
${requestBody ? bodyField(operationId, requestBody.content['application/json'].example) : null}
<p><button>Send</button></p>
<div class="answer" aria-live="polite"></div>
</form>`;
}

/** Who tries a call wants to see its answer, not that it has not changed. */
function isTried({ name }: Parameter): boolean {
  return name !== 'If-None-Match';
}

function field(operationId: string, parameter: Parameter, schemas: TryForm['schemas']): Html {
  const { name, required, in: place } = parameter;
  const id = `${operationId}-${name}`;
  const must = required ? html` required` : null;
  const values = valuesOf(parameter.schema, schemas);
  const control =
    values === undefined
      ? html`<input id="${id}" name="${name}" data-in="${place}"${must}${filled(parameter)}>`
      : html`<select id="${id}" name="${name}" data-in="${place}"><option></option>${values.map(
          (value) => html`<option>${value}</option>`,
        )}</select>`;
  return html`<p><label for="${id}">${name}</label> ${control}</p>
`;
}

/** Path parameters alone are filled in: the others change what is asked for. */
function filled({ in: place, example }: Parameter): Html | null {
  return place === 'path' ? html` value="${String(example)}"` : null;
}

function bodyField(operationId: string, example: unknown): Html {
  const text = stringify(example, null, 2) ?? '';
  const id = `${operationId}-body`;
  return html`<p><label for="${id}">body</label> <textarea id="${id}" rows="${text.split('\n').length}">${text}</textarea></p>
`;
}

function valuesOf(schema: JsonSchema, schemas: TryForm['schemas']): readonly string[] | undefined {
  const named = schema.$ref === undefined ? schema : schemas[referred(schema.$ref)];
  return named?.enum?.map(String);
}

/** The request as `curl` sends it to `url`, parameters and body filled with their examples; the key is in `$KEY`. */
export function curlOf(
  verb: string,
  operation: Operation,
  parameters: readonly Parameter[],
): readonly string[] {
  const body = operation.requestBody?.content['application/json'].example;
  const needsKey = operation.security.length > 0;
  return [
    ...(verb === 'get' ? [] : [`-X ${verb.toUpperCase()}`]),
    ...(needsKey ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(operation.requestBody ? [`-H ${quoted('Content-Type: application/json')}`] : []),
    ...parameters
      .filter(({ name }) => name === 'Idempotency-Key')
      .map(({ name, example }) => `-H ${quoted(`${name}: ${String(example)}`)}`),
    ...(operation.requestBody ? [`-d ${quoted(renderJson(body))}`] : []),
  ];
}

/** The path with its parameters, and with those of its query that have one, filled with their examples. */
export function examplePath(path: string, parameters: readonly Parameter[]): string {
  const query = parameters.flatMap(({ in: place, name, example }) =>
    place === 'query' && example !== undefined
      ? [`${name}=${encodeURIComponent(String(example))}`]
      : [],
  );
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return parameter === undefined ? whole : encodeURIComponent(String(parameter.example));
  });
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
