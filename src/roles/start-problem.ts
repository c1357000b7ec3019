/** A start that failed, in the words of whoever can change what it failed by. */
import { resolve, sep } from 'node:path';
import type { Config } from '../config/config.ts';

/** Why a start failed, in one line: what the operating system refused is said in terms of the variable to change. */
export function startProblem(fault: unknown, config: Config): string {
  const system = systemFault(fault);
  const known = system && (portProblem(system, config) ?? fileProblem(system, config));
  const message = fault instanceof Error ? fault.message || fault.name : String(fault);
  return (known ?? message).replace(/\s+/g, ' ').trim();
}

type SystemFault = NodeJS.ErrnoException & { readonly port?: number };

/** What the operating system refused, thrown as it is or as the cause of what was thrown. */
function systemFault(fault: unknown): SystemFault | undefined {
  if (!(fault instanceof Error)) return undefined;
  // Only Node's system errors have a syscall, and the type lists the fields of these.
  return 'syscall' in fault ? (fault as SystemFault) : systemFault(fault.cause);
}

/** Who listens names its own variable; that it met another one of ours is known only here. */
function portProblem(
  { syscall, port }: SystemFault,
  { http, edge, metrics }: Config,
): string | undefined {
  const ports = {
    PORT: http.port,
    EDGE_HTTP_PORT: edge.httpPort,
    EDGE_HTTPS_PORT: edge.httpsPort,
    METRICS_PORT: metrics.port,
  };
  const [first, ...others] = Object.entries(ports).filter(([, one]) => one === port);
  if (syscall !== 'listen' || first === undefined || others.length === 0) return undefined;
  const names = [first, ...others].map(([name]) => name).join(' and ');
  return `${names} are the same, ${port}: each needs a port of its own`;
}

function fileProblem({ path, message }: SystemFault, config: Config): string | undefined {
  if (path === undefined) return undefined;
  const { storage, acme } = config;
  const files = {
    DATA_DIR: storage.kind === 'embedded' ? storage.dataDir : undefined,
    ACME_CA_FILE: acme.caFile,
  };
  const within = (inner: string, outer: string) => `${resolve(inner)}${sep}`.startsWith(outer);
  // The path may be a folder above the one that was to be made, or a file in it.
  const concerned = Object.entries(files).find(
    ([, file]) =>
      file !== undefined &&
      (within(path, `${resolve(file)}${sep}`) || within(file, `${resolve(path)}${sep}`)),
  );
  return concerned && `${concerned[0]} ${concerned[1]} cannot be used: ${message}`;
}
