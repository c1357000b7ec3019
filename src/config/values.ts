/** What a value of the environment may look like (src/config/config.ts), each with the words for one that does not. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { apiKeyProblem } from './api-key.ts';

/** Milliseconds, by the unit that ends a duration. */
export const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A number from 0 to 65535; where something listens, 0 lets the system choose one. */
export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number, 0 to 65535')
  .transform(Number)
  .refine((n) => n <= 65_535, 'must be a port number, 0 to 65535');

/** `true` or `false`, in lower case. */
export const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true');

/** Milliseconds, 1 or more, written as a whole number and one of `units`: `48h`. */
export const duration = z
  .string()
  .regex(/^[1-9]\d{0,8}(ms|s|m|h|d)$/, 'must be a duration such as 48h, 30m, 15s or 500ms')
  .transform((text) => {
    const [, amount = '0', unit = 'ms'] = /^(\d+)(\D+)$/.exec(text) ?? [];
    return Number(amount) * units[unit as keyof typeof units]; // the expression above allows no other unit
  });

/** One label or more, in lower case without a trailing dot; whether the name exists is not asked. */
export const hostName = z
  .string()
  .regex(
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'must be a host name in lower case, without a trailing dot',
  );

/** The text as it was written: a URL of one of these protocols, each with its colon (`https:`). */
export const url = (protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );

/** A path that ends in `v1` is the interface's (docs/interface.md, section 1). */
export const baseUrl = url(['http:', 'https:']).refine(
  (text) => /^https?:\/\/[^/?#@]+(\/[^?#]*)?\/v1$/.test(text),
  'must end in /v1, without credentials, query or fragment',
);

/** `https://shop.example`: scheme, host and a port that is not the usual one, as browsers write it. */
export const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be origins such as https://shop.example, comma-separated',
  );

/** An address, or a network in CIDR notation; bits behind the prefix are not refused. */
export const network = z
  .string()
  .refine(isNetwork, 'must be addresses or networks, comma-separated');

/** A whole number from 1 to 999,999,999. `what` completes the refusal: `must be a number of requests, 1 or more`. */
export const count = (what: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,8}$/, `must be a number of ${what}, 1 or more`)
    .transform(Number);

/** An IPv4 or IPv6 address, as it was written. */
export const address = z
  .string()
  .refine((text) => isIP(text) !== 0, 'must be IP addresses, comma-separated');

/** 32 bytes each: the first one seals, all of them open. */
export type KeyEncryptionKeys = readonly [Uint8Array, ...Uint8Array[]];

/** One or more, comma separated: 32 bytes in base64 or hex, none twice. No problem shows any part of a key. */
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

/** Exactly: Node would read no further than the end of a first key, and take what two spaces part for one. */
function keyBytes(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  return /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
}

/** 16 characters or more that no request would be refused for (`apiKeyProblem`). */
export const apiKey = z
  .string()
  .min(16, 'must have at least 16 characters')
  .superRefine((text, context) => {
    const problem = apiKeyProblem(text);
    if (problem !== null) context.addIssue(problem);
  });

/** What a header can carry (RFC 6750, 2.1): 16 to 256 characters, and `=` behind them. */
export const metricsToken = z
  .string()
  .regex(/^[\w.~+/-]{16,256}=*$/, 'must have 16 to 256 letters, digits or - . _ ~ + /');

/** What a URL and a header can carry without escapes: 32 to 256 characters. */
export const urlSecret = z
  .string()
  .regex(/^[\w.~-]{32,256}$/, 'must have 32 to 256 letters, digits or - . _ ~');

/** Bytes, as certificate authorities hand out the keys of external accounts (RFC 8555, 7.3.4). */
export const base64url = z
  .string()
  .regex(/^[\w-]+={0,2}$/, 'must be base64url, as the certificate authority shows it')
  .transform((text) => new Uint8Array(Buffer.from(text, 'base64url')));

/** Items between commas, without blanks around them; each has to be an `item`. */
export function list<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item));
}

/** `10.0.0.1`, `10.0.0.0/8` or `fd00::/8`. */
function isNetwork(text: string): boolean {
  const [, host = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(host);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** `127.0.0.1:9180` or `[::1]:9180`. */
export const listenAddress = z
  .string()
  .refine(
    (text) => URL.canParse(`tcp://${text}`) && /^(?:[\d.]+|\[.*\]):\d+$/.test(text),
    'must be ip:port, such as 127.0.0.1:9180',
  )
  .transform(socketAddress);

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; port 53 by default, an issue otherwise. */
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
