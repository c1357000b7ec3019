/** HTML templates that escape every value except HTML. */
import { withoutDisorder } from '../core/names/printable.ts';

/** Inserted without escaping. */
export type Html = { readonly html: string };
type Value = string | number | Html | readonly Html[] | null;

/**
 * Escapes texts for their position, so they cannot reorder the text around them; omits null. A
 * value within a tag must be in double quotes, or be HTML.
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

/** Texts and the separator are escaped for between tags. */
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

/** ` name="value"`; nothing for null and false, ` name` for true. */
export function attribute(name: string, value: string | boolean | null): Html {
  if (value === null || value === false) return { html: '' };
  return { html: value === true ? ` ${name}` : ` ${name}="${rendered(value, /[&<>"]/g)}"` };
}

/** A post with two signs, as a data URL. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%230b606c' d='M11 2.5a1 1 0 0 1 2 0v1.75h3.3l.7.28 2.5 2.5v1.44l-2.5 2.5-.7.28H13V13h7v7h-7v2.5a1 1 0 0 1-2 0V20H7.7l-.7-.28-2.5-2.5v-1.44l2.5-2.5.7-.28H11v-1.75H4v-7h7Z'/%3E%3C/svg%3E";

/** `<head>` stays open. */
export function pageHead(title: string): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">`;
}

/** No external or inline content, no framing; `img-src` allows the inline icon. */
export function pagePolicy({ forms }: { readonly forms: 'self' | 'none' }): string {
  return `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action '${forms}'; frame-ancestors 'none'`;
}
