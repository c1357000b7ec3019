import { resolve, sep } from 'node:path';
import { type Config, rolesOf } from '../config/config.ts';
import type { Role } from '../core/operations/roles.ts';
import type { EdgePorts } from '../edge/edge.ts';
import { placeOf } from '../ops/outages.ts';
import { QueueRefused } from '../queue/backend.ts';

export type Welcome = {
  readonly addresses: {
    readonly http: string | null;
    readonly edge: EdgePorts | null;
    readonly metricsPort: number | null;
  };
  /** Shown only once; null if none was created. */
  readonly firstKey: string | null;
};

/** For a program that reads standard output. Contains the first key, so it must not be logged. */
export function welcomeFields(
  config: Config,
  { addresses, firstKey }: Welcome,
): Readonly<Record<string, unknown>> {
  const { http, edge, metricsPort } = addresses;
  return {
    storage: storageWords[config.storage.kind],
    ...(http !== null && { dashboard: `${http}/`, api: `${http}/v1`, reference: `${http}/docs` }),
    ...(edge !== null && { edge }),
    ...(metricsPort !== null && { metricsPort }),
    ...(firstKey !== null && { firstKey }),
    ...(config.storage.kind !== 'embedded' && {
      next: {
        start: otherRoles(config).map((role) => `ROLE=${role}`),
        ...(http !== null && { operations: `${http}/ops` }),
      },
    }),
  };
}

/** For people. Contains the first key, so it must not be logged. */
export function welcome(config: Config, { addresses, firstKey }: Welcome): string {
  const service = [
    `\nSignpost is ready (${config.role}, ${storageWords[config.storage.kind]}).\n`,
    ...(addresses.http ? [placesOf(addresses.http)] : []),
    ...(addresses.edge ? [edgeOf(addresses.edge)] : []),
    ...(addresses.metricsPort === null
      ? []
      : [`  Metrics     port ${addresses.metricsPort}: /metrics, /healthz, /readyz`]),
    keyHint(config, addresses, firstKey),
    nextSteps(config, addresses.http, firstKey),
  ];
  return `${service.join('\n')}\n`;
}

function keyHint(config: Config, addresses: Welcome['addresses'], firstKey: string | null): string {
  if (firstKey !== null)
    return `\n  Your first key. Copy it now: it is not shown again.\n\n    ${firstKey}\n`;
  if (addresses.http === null || config.apiKey !== undefined) return '';
  return '\n  Lost your API key? Set API_KEY (16 characters or more), and start again.\n';
}

function edgeOf({ httpPort, httpsPort, gatewayPort }: EdgePorts): string {
  if (gatewayPort === undefined) {
    return `  Edge        http on port ${httpPort}, https on port ${httpsPort}`;
  }
  return `  Edge        behind Caddy on ports ${httpPort} and ${httpsPort}, gateway on port ${gatewayPort}`;
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

function nextSteps(config: Config, url: string | null, firstKey: string | null): string {
  if (config.storage.kind === 'embedded') return url === null ? '' : thingsToTry(url, firstKey);
  const next = [
    ...otherRoles(config).map(
      (role) => `    ROLE=${role} npm start   # at least one, with the same variables`,
    ),
    ...(url === null ? [] : [`    ${url}/ops   # what needs attention`]),
  ];
  return ['  Next:\n', ...next, ''].join('\n');
}

/** Roles that the installation needs besides this process. */
function otherRoles(config: Config): readonly Role[] {
  const needed = rolesOf({ ...config, role: 'all' });
  return config.role === 'all' ? [] : needed.filter((role) => role !== config.role);
}

function thingsToTry(url: string, firstKey: string | null): string {
  // Double quotes let the shell expand the variable.
  const key = firstKey ?? '$SIGNPOST_API_KEY';
  return [
    '  Try:\n',
    `    SIGNPOST_API_KEY="${key}" node bin/signpost.mjs domains add docs.example.com --upstream http://127.0.0.1:4000 --url ${url}`,
    `    curl -s ${url}/v1/pets -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}'`,
    '    npm run demo     # a customer’s domain goes live, in less than half a minute',
    '',
  ].join('\n');
}

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
