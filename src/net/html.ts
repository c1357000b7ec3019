/** HTML in which every value is escaped, unless it is HTML already. */
import { withoutDisorder } from '../core/names/printable.ts';

export type Html = { readonly html: string };
type Value = string | number | Html | readonly Html[] | null;

/**
 * `` html`<p title="${text}">${text}</p>` ``: texts are escaped as their place needs it, and reorder nothing around them; null
 * is nothing. A value within a tag stands between double quotes, or is HTML.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  let written = '';
  let isInTag = false;
  for (const [index, literal] of strings.entries()) {
    const [opened, closed] = [literal.lastIndexOf('<'), literal.lastIndexOf('>')];
    if (opened !== closed) isInTag = opened > closed;
    written += literal + rendered(values[index] ?? null, isInTag ? /[&<>"]/g : /[&<>]/g);
  }
  return { html: written };
}

/** Texts, escaped for between tags, or HTML, one after the other. */
export function joined(parts: readonly (string | Html)[], separator: string | Html = ''): Html {
  const between = (part: Value) => rendered(part, /[&<>]/g);
  return { html: parts.map(between).join(between(separator)) };
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function rendered(value: Value, signs: RegExp): string {
  if (value === null) return '';
  if (typeof value === 'string') return escaped(value, signs);
  if (typeof value === 'number') return String(value);
  return 'html' in value ? value.html : value.map((part) => part.html).join('');
}

function escaped(text: string, signs: RegExp): string {
  return withoutDisorder(text).replace(signs, (sign) => escapes[sign] ?? '');
}

/** ` name="value"`, for where an attribute is there or not; nothing for null and false, ` name` for true. */
export function attribute(name: string, value: string | boolean | null): Html {
  if (value === null || value === false) return { html: '' };
  return { html: value === true ? ` ${name}` : ` ${name}="${rendered(value, /[&<>"]/g)}"` };
}
