import { stringify } from 'lossless-json';
import { type Html, html, joined } from '../../../net/html.ts';
import { renderJson } from '../../../net/json.ts';
import type { JsonSchema, OpenApiDocument, Operation, Parameter, Ref } from '../model.ts';
import { responsesTable } from './responses-table.ts';
import { described, fieldsOf, prose, referred } from './schema-section.ts';

/** In characters, if the example can be broken. */
const EXAMPLE_WIDTH = 76;

export type Listed = {
  readonly verb: string;
  /** As displayed: `/v1/pets/{petId}`. */
  readonly path: string;
  /** Relative to the page of its tag, so that calls go to the server that serves the page. */
  readonly local: string;
  /** Null if not configured; then the script inserts the page's own. */
  readonly origin: string | null;
  readonly operation: Operation;
};

/** Links an example already shown in `before`. Throws on a broken reference. */
export function operationSection(
  listed: Listed,
  before: readonly Listed[],
  document: OpenApiDocument,
): Html {
  const { verb, path, local, operation } = listed;
  const { operationId, summary, description } = operation;
  const parameters = operation.parameters.map((one) => parameterOf(one, document));
  const { schemas } = document.components;
  return html`<article id="${operationId}" aria-label="${summary}">
<h2><a href="#${operationId}">${summary}</a></h2>
<p class="line"><b class="${verb}">${verb.toUpperCase()}</b> <code class="path">${brokenAtSlashes(path)}</code></p>
<p class="badges">${badges(operation)}
${prose(description)}
${parametersPart(operation)}
${bodyPart(operation, document)}
<h3>Responses</h3>
${responsesTable(operation, document)}
${exampleOf(operation, before)}
<h3>From a shell</h3>
${command(listed, parameters)}
${tryForm({ verb, path: local, operation, parameters, schemas })}
</article>
`;
}

function badges(operation: Operation): Html {
  const stability = operation['x-stability'];
  const scope = operation['x-required-scope'];
  return joined(
    [
      html`<i class="${stability}">${stability}</i>`,
      ...(operation.deprecated ? [html`<i class="deprecated">deprecated</i>`] : []),
      html`<i>${scopeInWords(scope)}</i>`,
      ...(operation['x-addition'] ? [html`<i>addition</i>`] : []),
    ],
    ' ',
  );
}

function scopeInWords(scope: string | undefined): string {
  if (scope === undefined) return 'no key';
  return scope === 'any' ? 'any key' : `scope ${scope}`;
}

/** The operation's own parameters, then one row that links the shared headers to the overview. */
function parametersPart({ parameters }: Operation): Html | null {
  const own = parameters.flatMap((one) => ('$ref' in one ? [] : [one]));
  const shared = parameters.flatMap((one) => ('$ref' in one ? [referred(one.$ref)] : []));
  if (parameters.length === 0) return null;
  const links = joined(
    shared.map((name) => html`<a href="#header-${name}"><code>${name}</code></a>`),
    ', ',
  );
  const last = html`<tr><th><small>header, addition</small><td>${links}
`;
  return html`<h3>Parameters</h3>
<table>${own.map(parameterRow)}${shared.length > 0 ? last : null}</table>`;
}

export function parameterRow(one: Parameter): Html {
  const about = `${one.in}${one.required ? ', required' : ''}${one['x-addition'] ? ', addition' : ''}`;
  const anchor = one.in === 'header' ? html` id="header-${one.name}"` : null;
  return html`<tr${anchor}><th>${one.name} <small>${about}</small><td>${described(one.description, one.schema)}
`;
}

/** A named body gets its anchor here, because the overview omits it. */
function bodyPart({ requestBody }: Operation, { components }: OpenApiDocument): Html | null {
  if (requestBody === undefined) return null;
  const { schema } = requestBody.content['application/json'];
  const { $ref } = schema;
  const optional = requestBody.required ? null : html` <small>optional</small>`;
  if ($ref === undefined) return html`<h3>Body${optional}</h3>${fieldsOf(schema)}`;
  const name = referred($ref);
  return html`<h3 id="schema-${name}">Body: <code>${name}</code>${optional}</h3>
${fieldsOf(components.schemas[name] ?? {})}`;
}

function exampleOf(operation: Operation, before: readonly Listed[]): Html | null {
  const json = answerOf(operation);
  if (json?.example === undefined) return null;
  const shown = JSON.stringify(json.schema);
  const earlier = before.find((one) => JSON.stringify(answerOf(one.operation)?.schema) === shown);
  if (earlier !== undefined) {
    const { operationId, summary } = earlier.operation;
    return html`<p>An example is at <a href="#${operationId}">${summary}</a>.</p>`;
  }
  return html`<details><summary>Example response</summary>
<pre tabindex="0"><code>${laidOut(json.example)}</code></pre></details>`;
}

function laidOut(value: unknown, indent = ''): string {
  const line = stringify(value) ?? '';
  if (typeof value !== 'object' || value === null) return line;
  if (indent.length + line.length <= EXAMPLE_WIDTH) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((part) => laidOut(part, inner))
    : Object.entries(value).map(([name, part]) => `"${name}": ${laidOut(part, inner)}`);
  const [first, last] = Array.isArray(value) ? '[]' : '{}';
  return `${first}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${last}`;
}

function answerOf({ responses }: Operation) {
  // Integer keys are in ascending order, so the success comes before the errors.
  const [success] = Object.values(responses);
  if (success === undefined || '$ref' in success) return undefined;
  return success.content?.['application/json'];
}

function command({ verb, path, origin, operation }: Listed, parameters: readonly Parameter[]) {
  const where = origin ?? html`<span data-origin>http://localhost:3000</span>`;
  const rest = curlOf(verb, operation, parameters).map((part) => ` \\\n  ${part}`);
  const filled = examplePath(path, parameters);
  // A shell would expand a question mark.
  const quote = filled.includes('?') ? "'" : '';
  return html`<pre tabindex="0"><code>curl ${quote}${where}${filled}${quote}${rest.join('')}</code></pre>`;
}

export function brokenAtSlashes(path: string): Html {
  return joined(path.split(/(?=\/)/), html`<wbr>`);
}

function parameterOf(one: Parameter | Ref, { components }: OpenApiDocument): Parameter {
  if (!('$ref' in one)) return one;
  const found = components.parameters[referred(one.$ref)];
  if (found === undefined) throw new Error(`${one.$ref} is not in the document`);
  return found;
}

type TryForm = {
  readonly verb: string;
  /** Relative to the page, with parameters in braces. */
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
};

/** Hidden until the page's script shows it. */
function tryForm({ verb, path, operation, parameters, schemas }: TryForm): Html {
  const { operationId, requestBody } = operation;
  return html`<form class="try" hidden autocomplete="off" data-method="${verb.toUpperCase()}" data-path="${path}" aria-label="Try ${operationId}">
<h3>Try it</h3>
${parameters.filter(isTried).map((parameter) => field(operationId, parameter, schemas))}
${requestBody ? bodyField(operationId, requestBody.content['application/json'].example) : null}
<p><button>Send</button></p>
<div class="answer" aria-live="polite"></div>
</form>`;
}

/** Skips If-None-Match: a call shows its response and not a 304. */
function isTried({ name }: Parameter): boolean {
  return name !== 'If-None-Match';
}

/** A select for an enumeration, otherwise a text field. */
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

/** Only path parameters are prefilled: the others change the result. */
function filled({ in: place, example }: Parameter): Html | null {
  return place === 'path' ? html` value="${String(example)}"` : null;
}

/** As high as its example. */
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

/** Of the headers, only Idempotency-Key is sent. The API key is the shell variable `$KEY`. */
function curlOf(
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

/** Filled with percent-encoded examples. */
function examplePath(path: string, parameters: readonly Parameter[]): string {
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
