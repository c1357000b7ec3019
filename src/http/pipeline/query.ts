import { type Refusal, refuseField } from './errors.ts';

/** Parameters such as `metadata[customer]` are collected below their common name. */
type ParsedQuery =
  | {
      readonly ok: true;
      readonly value: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
    }
  | { readonly ok: false; readonly refusal: Refusal };

const KEYED = /^([^[\]]+)\[([^[\]]*)\]$/;

/** Refuses repeated parameters: clients and servers disagree on which value counts. */
export function parseQuery(query: URLSearchParams): ParsedQuery {
  const plain = new Map<string, string>();
  const keyed = new Map<string, Map<string, string>>();
  for (const [name, value] of query) {
    const [, outer, inner] = KEYED.exec(name) ?? [];
    const group = outer === undefined ? plain : (keyed.get(outer) ?? new Map<string, string>());
    const own = inner ?? name;
    if (group.has(own) || (outer !== undefined && plain.has(outer)) || keyed.has(name)) {
      return {
        ok: false,
        refusal: refuseField('invalid_query', name, 'is given more than once', 'repeated'),
      };
    }
    group.set(own, value);
    if (outer !== undefined) keyed.set(outer, group);
  }
  const objects = [...keyed].map(([name, group]) => [name, Object.fromEntries(group)] as const);
  return { ok: true, value: { ...Object.fromEntries(plain), ...Object.fromEntries(objects) } };
}
