/** What a person sees when the service is ready: where it is, the first key, and what to try. */

import { resolve, sep } from 'node:path';
import type { Config } from '../config/config.ts';
import type { EdgePorts } from '../edge/edge.ts';

/** Where the service is reached, and what is said once. */
export type Welcome = {
  readonly addresses: {
    /** The API's URL. */
    readonly http: string | null;
    readonly edge: EdgePorts | null;
    readonly metricsPort: number | null;
  };
  /** The key that was just made, which is shown only now; null: none was. */
  readonly firstKey: string | null;
};

/**
 * Returns the text that a start prints, with a line break at its end. It holds the first key where one was made: it must
 * not be logged.
 */
export function welcome(config: Config, { addresses, firstKey }: Welcome): string {
  const parts = [
    `\nSignpost is ready (${config.role}, ${storageWords[config.storage.kind]}).\n`,
    ...(addresses.http ? [placesOf(addresses.http)] : []),
    ...(addresses.edge ? [edgeOf(addresses.edge)] : []),
    ...(addresses.metricsPort === null
      ? []
      : [`  Metrics     port ${addresses.metricsPort}: /metrics, /healthz, /readyz`]),
    ...(firstKey === null ? [] : [`\n  Your first key, shown only now:\n\n    ${firstKey}\n`]),
    ...(addresses.http ? [thingsToTry(addresses.http, firstKey)] : []),
  ];
  return `${parts.join('\n')}\n`;
}

function edgeOf({ httpPort, httpsPort, gatewayPort }: EdgePorts): string {
  if (gatewayPort === undefined) {
    return `  Edge        http on port ${httpPort}, https on port ${httpsPort}`;
  }
  return `  Edge        behind Caddy, which has ports ${httpPort} and ${httpsPort}; it asks us on port ${gatewayPort}`;
}

const storageWords = {
  embedded: 'embedded storage',
  postgres: 'PostgreSQL',
  postgres_redis: 'PostgreSQL and Redis',
} as const;

function placesOf(url: string): string {
  return [`  Dashboard   ${url}/`, `  API         ${url}/v1`, `  Reference   ${url}/docs`].join(
    '\n',
  );
}

function thingsToTry(url: string, firstKey: string | null): string {
  // In double quotes, or the shell would send the variable's name.
  const key = firstKey ?? '$SIGNPOST_API_KEY';
  return [
    '  Try:\n',
    `    curl -s ${url}/v1/pets -H "Authorization: Bearer ${key}"`,
    `    curl -s ${url}/v1/pets -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}'`,
    '    npm run demo     # a customer’s domain goes live, in less than half a minute',
    '',
  ].join('\n');
}

/** Returns why a start failed, in one line: what the operating system refused is said in terms of the variable to change. */
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

/** Who listens names its own variable; that two of ours have the same port is known only here. */
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
