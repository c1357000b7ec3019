/** How lines of the log are written: of an error only what is known to hold no secret. */
import { type LoggerOptions, stdSerializers } from 'pino';
import type { Config } from '../config/config.ts';

/** What is kept of an error beside its words: codes and names, never arguments, parameters or rows. */
const keptFields = [
  ...['code', 'errno', 'syscall', 'address', 'port', 'status', 'kind'],
  ...['severity', 'schema', 'table', 'constraint', 'clientVersion'],
] as const;

/** Returns the options of the process's pino logger: errors under `err` are written by `errorInLog`. */
export function logOptions(level: Config['logLevel']): LoggerOptions {
  return { level, serializers: { err: errorInLog } };
}

/**
 * Returns what the log keeps of an error. Foreign errors carry what they were about (ioredis the arguments of a command,
 * Prisma the values of a row), so beside message and stack only known fields are kept.
 */
export function errorInLog(fault: unknown): object {
  if (!(fault instanceof Error)) return { type: 'Thrown', message: withoutSecrets(String(fault)) };
  const { type, message, stack } = stdSerializers.err(fault);
  const kept = keptFields.flatMap((name) => {
    const value: unknown = Reflect.get(fault, name);
    return typeof value === 'string' || typeof value === 'number' ? [[name, value]] : [];
  });
  return {
    type,
    message: withoutSecrets(message),
    stack: withoutSecrets(stack),
    ...Object.fromEntries(kept),
  };
}

/** Replaces passwords in URLs, keys and secrets of our making, and private keys with `…`. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/(\w:\/\/[^\s:/@]*:)[^\s/@]+@/g, '$1…@')
    .replace(/\b(signpost_|whsec_)[\w+/=]+/g, '$1…')
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*/g, '…');
}
