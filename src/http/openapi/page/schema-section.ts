/** Schemas for people: a type in a few words, the fields of an object, the named schemas at the end of the page. */
import { isDeepStrictEqual } from 'node:util';
import { type Html, html, joined } from '../../../net/html.ts';
import type { JsonSchema } from '../model.ts';

/** What may stand where JSON Schema takes a schema. A boolean, or nothing, is shown as `anything`. */
type Maybe = JsonSchema | boolean | undefined;

/** `integer int64, 1 to 100, default 20`, with links to named schemas. */
export function typeOf(schema: Maybe): Html {
  if (schema === undefined || typeof schema === 'boolean') return html`anything`;
  return joined([nameOf(schema), ...rulesOf(schema).map((rule) => html`, ${rule}`)]);
}

/** A description with the type behind it; the type alone where there is none. */
export function described(description: string, schema: Maybe): Html {
  const type = typeOf(schema);
  return description === '' ? html`<i>${type}</i>` : html`${words(description)} <i>· ${type}</i>`;
}

/** A table with a row for each field, in the schema's order; nothing where the schema has no fields. */
export function fieldsOf(schema: JsonSchema): Html {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return html``;
  return html`<table>${fields.map(([name, field]) => fieldRow(name, field, schema))}</table>`;
}

/** A section for each named schema, with the anchor `schema-<name>`, in the order given. */
export function schemaSections(schemas: Readonly<Record<string, JsonSchema>>): Html {
  return html`${Object.entries(schemas).map(
    ([name, schema]) => html`<section>
<h2 id="schema-${name}"><a href="#schema-${name}">${name}</a></h2>
<p>${words(schema.description ?? '')}</p>
${bodyOf(schema)}</section>
`,
  )}`;
}

/** The name at the end of a reference: `#/components/schemas/Pet` gives `Pet`. */
export function referred(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** What a schema is, without its bounds: a link, alternatives, a constant, values, an array or a type. */
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

/** Bounds and the default, in words. */
function rulesOf(schema: JsonSchema): readonly string[] {
  const { minimum, maximum, minLength, maxLength, default: value } = schema;
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...(value === undefined ? [] : [`default ${String(value)}`]),
  ];
}

/** In words; nothing where a length has a lower bound only. */
function range(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`];
  if (most !== undefined) return [`at most ${most}${unit}`];
  return least === undefined || unit !== '' ? [] : [`at least ${least}`];
}

/** A field without a description of its own shows its type alone. */
function fieldRow(name: string, field: JsonSchema | boolean, { required = [] }: JsonSchema): Html {
  const description = typeof field === 'object' ? (field.description ?? '') : '';
  const optional = required.includes(name) ? null : html` <small>optional</small>`;
  return html`<tr><th>${name}${optional}<td>${explained(field) ?? described(description, field)}${inner(field)}
`;
}

/** The values of an enumeration that has no name to find it by, each with what it means; null for any other field. */
function explained(field: JsonSchema | boolean): Html | null {
  if (typeof field === 'boolean' || field['x-enumDescriptions'] === undefined) return null;
  return valuesOf((field.enum ?? []).map(String), field);
}

/** The fields of an object that has no name of its own. */
function inner(field: JsonSchema | boolean): Html | null {
  if (typeof field === 'boolean') return null;
  const objects = [field, ...(field.anyOf ?? [])].filter(
    (one) => typeof one === 'object' && one.type === 'object',
  ) as JsonSchema[];
  return objects.length === 0 ? null : html`${objects.map(fieldsOf)}`;
}

/** The body of a named schema: values, alternatives or fields, else its type. */
function bodyOf(schema: JsonSchema): Html {
  const { enum: values, oneOf, properties } = schema;
  if (values !== undefined) return valuesOf(values.map(String), schema);
  if (oneOf !== undefined) {
    return choices(oneOf as readonly JsonSchema[]);
  }
  if (properties !== undefined) return fieldsOf(schema);
  return html`<p>${typeOf(schema)}</p>`;
}

/** Alternatives of an object: the first in full, of the others only the fields that differ from it. */
function choices(kinds: readonly JsonSchema[]): Html {
  const [first] = kinds;
  return html`${kinds.map((kind) => {
    const fields = Object.entries(kind.properties ?? {}).filter(
      ([name, field]) => kind === first || !isDeepStrictEqual(field, first?.properties?.[name]),
    );
    return html`<div class="choice">${fieldsOf({ ...kind, properties: Object.fromEntries(fields) })}</div>
`;
  })}`;
}

/** A list of what each value means; the plain values where the schema does not say. */
function valuesOf(values: readonly string[], schema: JsonSchema): Html {
  // Ours alone (src/http/schemas/common.ts); also read by Redocly's pages.
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

/** Paragraphs, which an empty line separates; a block whose every line begins with `- ` is a list. */
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

/** A line of text in which `code`, **strong** and *emphasized* are marked up; everything else is escaped. */
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
