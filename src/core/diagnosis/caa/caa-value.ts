import type { CaaRecord } from '../observation.ts';

export type CaaParameter = { readonly tag: string; readonly value: string };

/** An empty issuer authorizes no CA. */
export type IssueValue = { readonly issuer: string; readonly parameters: readonly CaaParameter[] };

/** One label of an issuer's name (RFC 8659, section 4.2). */
const issuerLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;
/** Visible ASCII without the semicolon (RFC 8659, section 4.2). */
const parameterValue = /^[\x21-\x3a\x3c-\x7e]*$/;
/** Also excludes characters that need an escape in a zone file. */
const plainValue = /^[\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]+$/;

/** Undefined if malformed. `parameterTag`: CAs differ from RFC 8659. */
export function parseIssueValue(value: string, parameterTag: RegExp): IssueValue | undefined {
  const [issuer = '', ...rest] = octetsOf(value).split(';').map(withoutBlanks);
  if (issuer !== '' && !issuer.split('.').every((label) => issuerLabel.test(label)))
    return undefined;
  // A single trailing semicolon means no parameters. Any other empty part is malformed.
  if (rest.length === 1 && rest[0] === '') return { issuer, parameters: [] };
  const parameters: CaaParameter[] = [];
  for (const part of rest) {
    const parameter = parseParameter(part, parameterTag);
    if (parameter === undefined) return undefined;
    parameters.push(parameter);
  }
  return { issuer, parameters };
}

/** Zone file syntax: `0 issue "ca.example"`. ASCII only: quotes and other bytes are escaped. */
export function presentationOf({ flags, tag, value }: CaaRecord): string {
  const name = octetsOf(tag).replace(/[^A-Za-z0-9]/g, decimal);
  const text = octetsOf(value)
    .replace(/["\\]/g, '\\$&')
    .replace(/[^\x20-\x7e]/g, decimal);
  return `${flags} ${name} "${text}"`;
}

/** In presentation form. Drops parameters that need escapes. */
export function recordToAdd(issuerDomain: string, parameters: readonly CaaParameter[]): string {
  const held = parameters.filter(({ value }) => plainValue.test(value));
  const value = [issuerDomain, ...held.map((one) => `${one.tag}=${one.value}`)].join('; ');
  return presentationOf({ flags: 0, tag: 'issue', value });
}

/** Of a `recordToAdd` result. */
export function withoutParameters(toAdd: string): string {
  return toAdd.replace(/;[^"]*"$/, '"');
}

/** Valid or not; can be empty. */
export function issuerTextOf(value: string): string {
  const [issuer = ''] = octetsOf(value).split(';', 1);
  return withoutBlanks(issuer);
}

/** Trims SP and HTAB only (RFC 8659, section 4.2: WSP), unlike JavaScript's trim. */
function withoutBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charAt(start))) start += 1;
  while (end > start && isBlank(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function parseParameter(part: string, parameterTag: RegExp): CaaParameter | undefined {
  const equals = part.indexOf('=');
  if (equals < 0) return undefined;
  const tag = withoutBlanks(part.slice(0, equals));
  const value = withoutBlanks(part.slice(equals + 1));
  return parameterTag.test(tag) && parameterValue.test(value) ? { tag, value } : undefined;
}

/** `\DDD`, `\"` and `\\` (RFC 1035, section 5.1), or a non-ASCII character. */
const escapeOrForeign = /\\(?:([01]\d\d|2[0-4]\d|25[0-5])|(["\\]))|[^\0-\x7f]/gu;

/** One character per octet; non-ASCII characters become UTF-8. */
function octetsOf(text: string): string {
  return text.replace(escapeOrForeign, (found, code?: string, plain?: string) => {
    if (code !== undefined) return String.fromCharCode(Number(code));
    return plain ?? String.fromCharCode(...new TextEncoder().encode(found));
  });
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t';
}

function decimal(octet: string): string {
  return `\\${String(octet.charCodeAt(0)).padStart(3, '0')}`;
}
