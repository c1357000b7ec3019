import { isIP } from 'node:net';
import { z } from 'zod';
import {
  type AccountLimitName,
  accountLimitNames,
  usualAccountLimits,
} from '../core/operations/account-limits.ts';
import { parseDuration } from '../core/time.ts';
import { apiKeyProblem } from './api-key.ts';

/** When listening, 0 lets the system choose a port. */
export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number, 0 to 65535')
  .transform(Number)
  .refine((n) => n <= 65_535, 'must be a port number, 0 to 65535');

export const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true');

export const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  context.addIssue('must be a duration such as 48h, 30m, 15s or 500ms');
  return z.NEVER;
});

/** Does not check whether the name exists. */
export const hostName = z
  .string()
  .regex(
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'must be a host name in lower case, without a trailing dot',
  );

/** `protocols` include the colon (`https:`). */
export const url = (protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );

/** API paths end in `v1` (docs/interface.md, section 1). */
export const baseUrl = url(['http:', 'https:']).refine(
  (text) => /^https?:\/\/[^/?#@]+(\/[^?#]*)?\/v1$/.test(text),
  'must end in /v1, without credentials, query or fragment',
);

/** As browsers write it: `https://shop.example`. */
export const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be origins such as https://shop.example, comma-separated',
  );

/** Host bits can be set. */
export const network = z
  .string()
  .refine(isNetwork, 'must be addresses or networks, comma-separated');

/** `what` completes the error message: `must be a number of requests, 1 or more`. */
export const count = (what: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,8}$/, `must be a number of ${what}, 1 or more`)
    .transform(Number);

/** `domains=500,keys=10`: the others stay as usual. */
export const accountLimits = z.string().transform((given, { addIssue }) => {
  const limits: Record<AccountLimitName, number> = { ...usualAccountLimits };
  for (const part of given.split(',')) {
    const [, known, value] = /^\s*(\w+)=([1-9]\d{0,8})\s*$/.exec(part) ?? [];
    const name = accountLimitNames.find((one) => one === known);
    if (name === undefined) {
      addIssue({ code: 'custom', message: limitWords });
      return z.NEVER;
    }
    limits[name] = Number(value);
  }
  return limits;
});
const limitWords = `must be limits such as domains=500,keys=10, each 1 or more, of ${accountLimitNames.join(', ')}`;

export const timeScale = z
  .string()
  .regex(/^[1-9]\d{0,5}$/, 'must be a whole number, 1 or more')
  .transform(Number);

export const address = z
  .string()
  .refine((text) => isIP(text) !== 0, 'must be IP addresses, comma-separated');

/** 32 bytes each. The first key encrypts; every key decrypts. */
export type KeyEncryptionKeys = readonly [Uint8Array, ...Uint8Array[]];

/** Base64 or hex, without duplicates. Error messages never show key material. */
export const keyEncryptionKeys = z.string().transform((text, context): KeyEncryptionKeys => {
  const parts = text.split(',').map((part) => part.trim());
  const keys = parts.map(keyBytes);
  for (const [index, key] of keys.entries()) {
    const which = keys.length === 1 ? '' : `, as number ${index + 1} of ${keys.length} is not`;
    if (key === null) {
      context.addIssue(`must be 32 bytes in base64 or hex (openssl rand -base64 32)${which}`);
    } else if (keys.slice(0, index).some((before) => before?.equals(key))) {
      context.addIssue(`contains a key twice: number ${index + 1} repeats an earlier one`);
    }
  }
  const [first = new Uint8Array(), ...others] = keys.flatMap((key) => key ?? []);
  return [first, ...others];
});

/** Strict, because Node stops at the end of a first key and ignores spaces between two. */
function keyBytes(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
}

/** In a form that requests can send (`apiKeyProblem`). */
export const apiKey = z
  .string()
  .min(16, 'must have at least 16 characters')
  .superRefine((text, context) => {
    const problem = apiKeyProblem(text);
    if (problem !== null) context.addIssue(problem);
  });

/** A bearer token (RFC 6750, section 2.1). */
export const metricsToken = z
  .string()
  .regex(/^[\w.~+/-]{16,256}=*$/, 'must have 16 to 256 letters, digits or - . _ ~ + /');

/** Needs no escapes in a URL or a header. */
export const urlSecret = z
  .string()
  .regex(/^[\w.~-]{32,256}$/, 'must have 32 to 256 letters, digits or - . _ ~');

/** RFC 8555, section 7.3.4. */
export const base64url = z
  .string()
  .regex(/^[\w-]+={0,2}$/, 'must be base64url, as the certificate authority shows it')
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64url')));

/** Comma-separated items, trimmed. */
export function listOf<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item));
}

function isNetwork(text: string): boolean {
  const [, host = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(host);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** The port is required. */
export const listenAddress = z
  .string()
  .refine(
    (text) => URL.canParse(`tcp://${text}`) && /^(?:[\d.]+|\[.*\]):\d+$/.test(text),
    'must be ip:port, such as 127.0.0.1:9180',
  )
  .transform(socketAddress);

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. The default port is 53. */
export function socketAddress(text: string, context: z.RefinementCtx) {
  const [, bracketed, plain, portText] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = isIP(text) === 6 ? text : (bracketed ?? plain ?? '');
  const portNumber = Number(portText ?? 53);
  if (isIP(host) === 0 || portNumber > 65_535) {
    context.addIssue('must be ip or ip:port, comma-separated');
  }
  return { address: host, port: portNumber };
}
