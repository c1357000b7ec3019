/** A real Caddy with on-demand certificates on free ports, from the `caddy` on PATH. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithThisProcess } from './children.ts';
import { findProgram, missing } from './programs.ts';

export type CaddyOptions = {
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Signpost's API for the ask endpoint, without a path. */
  readonly apiUrl: string;
  readonly upstream: string;
  readonly acme: { readonly directoryUrl: string; readonly caFile: string };
};

export type Caddy = {
  readonly child: ChildProcess;
  /** The first thousand lines of its log. */
  readonly lines: readonly string[];
  /** Its storage. */
  readonly folder: string;
  readonly close: () => Promise<void>;
};

/** The configuration in docs/run/edge.md with other ports and a CA of the test lab. */
function caddyfile({ httpPort, httpsPort, apiUrl, upstream, acme }: CaddyOptions, folder: string) {
  return `{
	admin off
	skip_install_trust
	http_port ${httpPort}
	https_port ${httpsPort}
	default_bind 127.0.0.1
	storage file_system ${folder}
	acme_ca ${acme.directoryUrl}
	acme_ca_root ${acme.caFile}
	on_demand_tls {
		ask ${apiUrl}/internal/tls/ask
	}
}
https:// {
	tls {
		on_demand
	}
	forward_auth ${apiUrl} {
		uri /internal/tls/ask?domain={host}
		header_up -X-Forwarded-For
	}
	reverse_proxy ${upstream}
}
`;
}

/** Starts a Caddy without certificates and waits until it serves. Throws if it is not installed. */
export function startCaddy(options: CaddyOptions): Promise<Caddy> {
  return runCaddy((folder) => caddyfile(options, folder));
}

/** Runs a Caddy with this configuration and waits until it serves. It stores data in `folder`. */
export async function runCaddy(
  configure: (folder: string) => string,
  env: Readonly<Record<string, string>> = {},
): Promise<Caddy> {
  const program = findProgram('caddy');
  if (program === undefined) throw new Error(missing('caddy') ?? 'caddy is missing');
  const folder = await mkdtemp(join(tmpdir(), 'caddy-'));
  const config = join(folder, 'Caddyfile');
  await writeFile(config, configure(folder));
  const child = spawn(program, ['run', '--config', config, '--adapter', 'caddyfile'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder, ...env },
  });
  const exited = once(child, 'exit');
  endWithThisProcess(child);
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      reject(new Error(`caddy ended with ${code}: ${lines.join('\n')}`)),
    );
    // Read to the end, or Caddy would block on a full pipe.
    createInterface(child.stderr).on('line', (line) => {
      if (lines.length < 1_000) lines.push(line);
      if (line.includes('serving initial configuration')) resolve();
    });
  });
  return {
    child,
    lines,
    folder,
    async close() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
