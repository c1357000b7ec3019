/** Locates the programs that tests run and records tests skipped for a missing one. */
import { accessSync, appendFileSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export type ProgramName =
  | 'redis-server'
  | 'postgres'
  | 'initdb'
  | 'pg_dump'
  | 'redis-cli'
  | 'pebble'
  | 'caddy'
  | 'h2load'
  | 'nginx'
  | 'wrk'
  | 'chromium'
  | 'openssl'
  | 'curl'
  | 'nsd'
  | 'named'
  | 'unbound'
  | 'knotd'
  | 'pdns_server'
  | 'dnsdist'
  | 'dnssec-keygen'
  | 'dnssec-signzone'
  | 'dnssec-dsfromkey'
  | 'promtool'
  | 'python3'
  | 'script';

const debianPackages: { readonly [N in ProgramName]: string } = {
  'redis-server': 'redis-server',
  postgres: 'postgresql',
  initdb: 'postgresql',
  pg_dump: 'postgresql-client',
  'redis-cli': 'redis-tools',
  pebble: 'pebble',
  caddy: 'caddy',
  h2load: 'nghttp2-client',
  nginx: 'nginx-light',
  wrk: 'wrk',
  chromium: 'chromium-headless-shell',
  openssl: 'openssl',
  curl: 'curl',
  nsd: 'nsd',
  named: 'bind9',
  unbound: 'unbound',
  knotd: 'knot',
  pdns_server: 'pdns-server pdns-backend-bind',
  dnsdist: 'dnsdist',
  'dnssec-keygen': 'bind9-utils',
  'dnssec-signzone': 'bind9-utils',
  'dnssec-dsfromkey': 'bind9-utils',
  promtool: 'prometheus',
  python3: 'python3',
  script: 'bsdutils',
};

/** Debian's folder of PostgreSQL programs, which are not on PATH. */
const POSTGRES_VERSIONS = '/usr/lib/postgresql';

/** Debian's folder of name servers, on the PATH of root only. */
const SYSTEM_PROGRAMS = '/usr/sbin';

/** Preferred alternatives. Headless Chromium needs 40% of the CPU time. */
const preferred: { readonly [N in ProgramName]?: string } = { chromium: 'chromium-headless-shell' };

/** The program's path, or undefined. PATH comes first, then the newest PostgreSQL version. */
export function findProgram(name: ProgramName): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const folders = [...path, SYSTEM_PROGRAMS, ...postgresFolders()];
  return [preferred[name] ?? name, name]
    .flatMap((file) => folders.map((folder) => join(folder, file)))
    .find(isExecutable);
}

/** Why the program cannot run; null if it can. */
export function missing(name: ProgramName): string | null {
  if (findProgram(name) !== undefined) return null;
  return `${name} is not installed (Debian: ${debianPackages[name]})`;
}

/** `describe.skipIf(lacks('pebble', 'certificates from Pebble'))` skips and reports it. */
export function lacks(name: ProgramName, what: string): boolean {
  const reason = missing(name);
  if (reason !== null) noteNotRun(what, reason);
  return reason !== null;
}

/** Names the file in which test processes list what they did not run. */
export const NOT_RUN_FILE = 'SIGNPOST_NOT_RUN_FILE';

/** Makes the reporter list `what` as not run. */
export function noteNotRun(what: string, reason: string): void {
  const file = process.env[NOT_RUN_FILE];
  if (file !== undefined) appendFileSync(file, `${what} — ${reason}\n`);
}

function postgresFolders(): string[] {
  if (!existsSync(POSTGRES_VERSIONS)) return [];
  return readdirSync(POSTGRES_VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(POSTGRES_VERSIONS, version, 'bin'));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
