import { hostname } from 'node:os';
import { type LoggerOptions, stdSerializers } from 'pino';
import type { Config } from '../config/config.ts';
import { projectVersion } from '../config/root-folder.ts';
import { withoutSecrets } from '../core/secrets.ts';
import { outageHook } from './outage-lines.ts';

/** Codes and names; never arguments, parameters or rows. */
const keptFields = [
  ...['code', 'errno', 'syscall', 'address', 'port', 'status', 'kind'],
  ...['severity', 'schema', 'table', 'constraint', 'clientVersion'],
] as const;

/** `hostname` is this machine's, so a customer's host name is `domain`. */
export function logOptions({ logLevel, role }: Pick<Config, 'logLevel' | 'role'>): LoggerOptions {
  const base = { pid: process.pid, hostname: hostname(), role, version: projectVersion() };
  const hooks = { logMethod: outageHook() };
  return { level: logLevel, base, serializers: { err: errorInLog }, hooks };
}

/** Foreign errors contain data: ioredis command arguments, Prisma row values. */
function errorInLog(fault: unknown): object {
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
