import { resolve, sep } from 'node:path';
import type { Config } from '../config/config.ts';
import { placeOf } from '../ops/outages.ts';
import { QueueRefused } from '../queue/backend.ts';

/** One line. System errors name the variable to change. */
export function startProblem(fault: unknown, config: Config): string {
  const system = systemFault(fault);
  const known =
    storageProblem(fault, config) ??
    (system && (portProblem(system, config) ?? fileProblem(system, config)));
  const message = fault instanceof Error ? fault.message || fault.name : String(fault);
  return (known ?? message).replace(/\s+/g, ' ').trim();
}

/** Wrong credentials, no such database, or no right to use it (PostgreSQL, appendix A). */
const refusalCodes: ReadonlySet<string> = new Set(['28000', '28P01', '3D000', '42501']);

function storageProblem(fault: unknown, { storage }: Config): string | undefined {
  if (!(fault instanceof Error)) return undefined;
  if (fault instanceof QueueRefused) return problemAt('queue', storage, fault);
  const code = 'code' in fault && typeof fault.code === 'string' ? fault.code : '';
  return refusalCodes.has(code) ? problemAt('database', storage, fault) : undefined;
}

function problemAt(
  dependency: 'database' | 'queue',
  storage: Config['storage'],
  { message }: Error,
): string {
  const { variable, host, path } = placeOf(dependency, storage);
  return `${variable} ${host}${path} cannot be used: ${message}`;
}

type SystemFault = NodeJS.ErrnoException & { readonly port?: number };

/** In the cause chain, too. */
function systemFault(fault: unknown): SystemFault | undefined {
  if (!(fault instanceof Error)) return undefined;
  // Only Node.js system errors have a syscall.
  return 'syscall' in fault ? (fault as SystemFault) : systemFault(fault.cause);
}

/** Listeners name their own variable; only here are conflicts between two variables known. */
function portProblem(
  { syscall, port }: SystemFault,
  { http, edge, metrics }: Config,
): string | undefined {
  const ports = {
    PORT: http.port,
    ...(edge.caddy === undefined
      ? { EDGE_HTTP_PORT: edge.httpPort, EDGE_HTTPS_PORT: edge.httpsPort }
      : { EDGE_CADDY_ADDRESS: edge.caddy.port }),
    METRICS_PORT: metrics.port,
  };
  const [first, ...others] = Object.entries(ports).filter(([, one]) => one === port);
  if (syscall !== 'listen' || first === undefined || others.length === 0) return undefined;
  const names = [first, ...others].map(([name]) => name).join(' and ');
  return `${names} are both ${port}: use different ports`;
}

function fileProblem({ path, message }: SystemFault, config: Config): string | undefined {
  if (path === undefined) return undefined;
  const { storage, acme } = config;
  const files = {
    DATA_DIR: storage.kind === 'embedded' ? storage.dataDir : undefined,
    ACME_CA_FILE: acme.caFile,
  };
  const within = (inner: string, outer: string) => `${resolve(inner)}${sep}`.startsWith(outer);
  // The path in the error can be a parent folder or a file in it.
  const concerned = Object.entries(files).find(
    ([, file]) =>
      file !== undefined &&
      (within(path, `${resolve(file)}${sep}`) || within(file, `${resolve(path)}${sep}`)),
  );
  return concerned && `${concerned[0]} ${concerned[1]} cannot be used: ${message}`;
}
