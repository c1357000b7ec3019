import { isDeepStrictEqual } from 'node:util';
import { type Html, html, joined } from '../../../net/html.ts';
import type { JsonSchema } from '../model.ts';

/** Where JSON Schema allows a schema. Booleans and undefined are shown as `anything`. */
type Maybe = JsonSchema | boolean | undefined;

/** `integer int64, 1 to 100, default 20`, with links to named schemas. */
export function typeOf(schema: Maybe): Html {
  if (schema === undefined || typeof schema === 'boolean') return html`anything`;
  return joined([nameOf(schema), ...rulesOf(schema).map((rule) => html`, ${rule}`)]);
}

export function described(description: string, schema: Maybe): Html {
  const type = typeOf(schema);
  return description === '' ? html`<i>${type}</i>` : html`${words(description)} <i>· ${type}</i>`;
}

export function fieldsOf(schema: JsonSchema): Html {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return html``;
  return html`<table>${fields.map(([name, field]) => fieldRow(name, field, schema))}</table>`;
}

export function schemaSections(schemas: Readonly<Record<string, JsonSchema>>): Html {
  return html`${Object.entries(schemas).map(
    ([name, schema]) => html`<section>
<h3 id="schema-${name}"><a href="#schema-${name}">${name}</a></h3>
<p>${words(schema.description ?? '')}</p>
${bodyOf(schema)}</section>
`,
  )}`;
}

/** `#/components/schemas/Pet` gives `Pet`. */
export function referred(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

function nameOf(schema: JsonSchema): Html {
  const { $ref, type, format, items, enum: values, anyOf, oneOf } = schema;
  if ($ref !== undefined) {
    const name = referred($ref);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return joined(choices.map(typeOf), ' or ');
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`;
  if (values !== undefined) {
    return joined(
      values.map((value) => html`<code>${String(value)}</code>`),
      ' or ',
    );
  }
  if (type === 'array' && typeof items === 'object' && !Array.isArray(items)) {
    return html`array of ${typeOf(items)}`;
  }
  const types = Array.isArray(type) ? type.join(' or ') : String(type ?? 'anything');
  return html`${types}${format === undefined ? null : html` ${format}`}`;
}

function rulesOf(schema: JsonSchema): readonly string[] {
  const { minimum, maximum, minLength, maxLength, default: value } = schema;
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...(value === undefined ? [] : [`default ${String(value)}`]),
  ];
}

/** Empty for a length with only a lower bound. */
function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`];
  if (most !== undefined) return [`at most ${most}${unit}`];
  return least === undefined || unit !== '' ? [] : [`at least ${least}`];
}

function fieldRow(name: string, field: JsonSchema | boolean, { required = [] }: JsonSchema): Html {
  const description = typeof field === 'object' ? (field.description ?? '') : '';
  const optional = required.includes(name) ? null : html` <small>optional</small>`;
  return html`<tr><th>${name}${optional}<td>${explained(field) ?? described(description, field)}${inner(field)}
`;
}

function explained(field: JsonSchema | boolean): Html | null {
  if (typeof field === 'boolean' || field['x-enumDescriptions'] === undefined) return null;
  return valuesOf((field.enum ?? []).map(String), field);
}

function inner(field: JsonSchema | boolean): Html | null {
  if (typeof field === 'boolean') return null;
  const objects = [field, ...(field.anyOf ?? [])].filter(
    (one) => typeof one === 'object' && one.type === 'object',
  ) as JsonSchema[];
  return objects.length === 0 ? null : html`${objects.map(fieldsOf)}`;
}

function bodyOf(schema: JsonSchema): Html {
  const { enum: values, oneOf, properties } = schema;
  if (values !== undefined) return valuesOf(values.map(String), schema);
  if (oneOf !== undefined) {
    return choices(oneOf as readonly JsonSchema[]);
  }
  if (properties !== undefined) return fieldsOf(schema);
  return html`<p>${typeOf(schema)}</p>`;
}

/** The first alternative in full, then only the fields that differ, also those of fields. */
function choices(kinds: readonly JsonSchema[]): Html {
  const [first] = kinds;
  return html`${kinds.map(
    (
      kind,
    ) => html`<div class="choice">${fieldsOf(kind === first ? kind : differing(kind, first))}</div>
`,
  )}`;
}

/** Without the fields that are the same in `other`. */
function differing(schema: JsonSchema, other: Maybe): JsonSchema {
  const known = typeof other === 'object' ? (other.properties ?? {}) : {};
  const fields = Object.entries(schema.properties ?? {})
    .filter(([name, field]) => !isDeepStrictEqual(field, known[name]))
    .map(([name, field]) => [
      name,
      typeof field === 'object' && field.properties !== undefined
        ? differing(field, known[name])
        : field,
    ]);
  return { ...schema, properties: Object.fromEntries(fields) };
}

function valuesOf(values: readonly string[], schema: JsonSchema): Html {
  // Set in src/http/schemas/common.ts; Redocly's pages support it too.
  const explained = (schema['x-enumDescriptions'] ?? {}) as Readonly<Record<string, string>>;
  const known = values.filter((value) => explained[value] !== undefined);
  if (known.length === 0) {
    return html`<p>${joined(
      values.map((value) => html`<code>${value}</code>`),
      ' ',
    )}</p>`;
  }
  return html`<dl>${known.map(
    (value) => html`<dt>${value}<dd>${words(explained[value] ?? '')}
`,
  )}</dl>`;
}

/** Paragraphs separated by empty lines. A block in which every line starts with `- ` is a list. */
export function prose(text: string): Html {
  return joined(
    text.split(/\n{2,}/).map((block) => {
      const lines = block.split('\n');
      return lines.every((line) => line.startsWith('- '))
        ? html`<ul>${lines.map((line) => html`<li>${words(line.slice(2))}</li>`)}</ul>`
        : html`<p>${words(block)}</p>`;
    }),
  );
}

/** Markup for `code`, **strong** and *emphasis*. Everything else is escaped. */
export function words(text: string): Html {
  return joined(
    text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part) => {
      if (/^`.+`$/s.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
      if (/^\*\*.+\*\*$/s.test(part)) return html`<strong>${part.slice(2, -2)}</strong>`;
      if (/^\*.+\*$/s.test(part)) return html`<em>${part.slice(1, -1)}</em>`;
      return part;
    }),
  );
}
