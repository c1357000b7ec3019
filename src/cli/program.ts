/** Commands, options and help. Implementations load when they run, so that help starts fast. */

import { fileURLToPath } from 'node:url';
import { script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import { Command } from '@commander-js/extra-typings';
import { projectRoot, projectVersion } from '../config/root-folder.ts';
import { defineAccounts } from './accounts/command.ts';
import {
  exitDone,
  type Io,
  jsonOption,
  notes,
  type Program,
  type Run,
  urlOption,
} from './command.ts';
import { defineDomains } from './domains/command.ts';
import { defineKeys } from './keys-command.ts';
import { columnsFor, createPaint, wantsColor } from './layout.ts';

/** `settle` is not called for help, the version or usage errors (thrown as CommanderError). */
export function createProgram(
  io: Io,
  settle: (outcome: Awaited<ReturnType<CommandAct>>) => void,
): Program {
  const run: Run = async (act) => {
    io.readEnvFile();
    settle(await act(io));
  };
  const program: Program = new Command('signpost');
  program
    .usage('<command> [options]')
    .version(projectVersion(), '-v, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: () => {}, // signpost.ts prints errors
      getOutHelpWidth: () => columnsFor(io.screen.columns),
      getErrHelpWidth: () => columnsFor(io.screen.columns),
      getOutHasColors: () => true, // styleTitle decides
      getErrHasColors: () => true,
    })
    .configureHelp({ styleTitle: (title) => paint('bold', title) })
    .addHelpText('after', exitCodes);
  const paint = createPaint(wantsColor(io.env, io.screen.out));
  // The demo configures its own platform and must not read .env.
  defineDemo(program, async (act) => settle(await act(io)));
  for (const define of [
    defineDoctor,
    defineDomains,
    defineEdge,
    defineFleet,
    defineAccounts,
    defineKeys,
    defineRotateKeys,
    defineZone,
    defineCa,
  ]) {
    define(program, run);
  }
  defineCompletion(program, io);
  return program;
}

type CommandAct = Parameters<Run>[0];

const exitCodes = notes(
  'Exit 0: success. Exit 1: check failed. Exit 2: bad usage, a refused request, or no answer.',
);

/** Between two acts: long enough to read one. Output that goes to a pipe needs no pause. */
const PAUSE_MS = 2_000;

/** `run` must leave the .env file alone: the demo configures its own service. */
function defineDemo(program: Program, run: Run): void {
  program
    .command('demo')
    .description(
      'watch a customer’s domain go live on this machine, after four common DNS mistakes',
    )
    .option('--keep', 'keep everything running until Ctrl-C')
    .addHelpText(
      'after',
      notes(
        'It starts Signpost, a name server and a project’s deploy on free ports of this machine, and acts as the customer until the domain is live. It takes less than half a minute, uses no running service and removes its data at the end.',
        'Exit 0: the domain went live. Exit 1: it did not.',
      ),
    )
    .action(({ keep }) =>
      run(async ({ out, screen, interruptions }) => {
        out('Starting Signpost, a name server and a deploy on this machine …\n\n');
        // Imported here because it loads the whole service, which takes seconds.
        const { runDemo } = await import('./demo/demo.ts');
        const stop = new AbortController();
        interruptions.once(() => stop.abort());
        const pauseMs = screen.out ? PAUSE_MS : 0;
        await runDemo((line) => out(`${line}\n`), {
          pauseMs,
          stop: stop.signal,
          keep: keep === true,
        });
        return exitDone;
      }),
    );
}

/** With a target it checks from this machine, otherwise through the service. */
function defineDoctor(program: Program, run: Run): void {
  program
    .command('doctor')
    .description('check the DNS of a host name, and show problems and how to fix them')
    .argument('<hostname>', 'host name; Unicode, upper case and pasted URLs work too')
    .option(
      '--target <host>',
      'what its record must point to; runs the check on this machine, without a service or key',
    )
    .option('--reach', 'also query its addresses at ports 80 and 443, and the CAs')
    .addOption(urlOption())
    .addOption(jsonOption('print the response of GET /v1/diagnosis/{hostname}'))
    .addHelpText(
      'after',
      notes(
        'Queries every name server once, and shows each answer and who needs to act. Nothing is stored, and the domain need not be attached. Only the service recognizes its own edge.',
        'Without --target, the running service runs the check; it knows the target of an attached domain. The API key, with the scope domains:read, is read from SIGNPOST_API_KEY or API_KEY. With --target, this machine runs the check, using the service’s DNS_… variables.',
        'Exit 0: set up correctly. Exit 1: check failed. Exit 2: couldn’t check.',
      ),
    )
    .action((hostname, options) =>
      run(async (io) => {
        const { runDoctor } = await import('./doctor/doctor.ts');
        return runDoctor({ hostname, ...options }, io);
      }),
    );
}

/** Works on the database directly, so it has neither `--url` nor `--json`. */
function defineRotateKeys(program: Program, run: Run): void {
  program
    .command('rotate-keys')
    .description('re-encrypt stored secrets with the first key of KEY_ENCRYPTION_KEY')
    .option('--check', 'change nothing; show what is encrypted with which key')
    .addHelpText(
      'after',
      notes(
        'Covers the keys of certificates, CA accounts and the local CA, webhook secrets and derived secrets. First give every process the new key as its first key, then run this while the service runs. docs/run/key-rotation.md has all steps.',
        'Reads KEY_ENCRYPTION_KEY (the new key, a comma, the previous key) and DATABASE_URL from the environment or .env, like the service. With embedded storage, stop the service first. You can stop and rerun it at any time.',
        'Exit 0: only the first key is needed. Exit 1: another key is still needed. Exit 2: bad usage, or the check failed.',
      ),
    )
    .action((options) =>
      run(async (io) => {
        const { runRotateKeys } = await import('./rotate-keys.ts');
        return runRotateKeys(options, io);
      }),
    );
}

function defineZone(program: Program, run: Run): void {
  program
    .command('zone')
    .description('show the DNS records of the platform itself, as lines of a zone file')
    .option('--ttl <seconds>', 'TTL of every record, 1 to 86400 (default: 300)')
    .option('--accounturi <url>', 'only allow certificates for this CA account (RFC 8657)')
    .option(
      '--validationmethods <methods>',
      'only allow these methods: the one of ACME_CHALLENGE, or http-01,tls-alpn-01 (RFC 8657)',
    )
    .addOption(jsonOption('print the records as JSON'))
    .addHelpText(
      'after',
      notes(
        'The records are below PLATFORM_DOMAIN: the edge’s addresses, and CAA records that keep a customer’s own CAA records from blocking certificates for subdomains. docs/run/platform-zone.md has details.',
        'Reads PLATFORM_DOMAIN, PLATFORM_ADDRESSES, ACME_ISSUER_DOMAINS, ACME_FALLBACK_ISSUER_DOMAINS and ACME_CONTACT from the environment or .env, like the service. Makes no requests and no changes.',
        'Exit 0: success. Exit 2: a variable is missing or invalid.',
      ),
    )
    .action((options) =>
      run(async (io) => {
        const { runZone } = await import('./zone.ts');
        return runZone(options, io);
      }),
    );
}

function defineEdge(program: Program, run: Run): void {
  program
    .command('edge')
    .usage('<command> [options]')
    .description('print the configuration of a server in front of the edge')
    .command('caddyfile')
    .description('print the configuration of Caddy in front of the edge (EDGE=caddy)')
    .addHelpText(
      'after',
      notes(
        'Reads HOST, EDGE_HTTP_PORT, EDGE_HTTPS_PORT, PUBLIC_HTTPS_PORT, EDGE_CADDY_ADDRESS and TRUSTED_PROXIES from the environment or .env. The file contains no customer names and no secrets: Caddy reads EDGE_CADDY_SECRET from its own environment. docs/run/caddy.md explains the setup.',
        'Exit 0: success. Exit 2: a variable is invalid.',
      ),
    )
    .action(() => run(async (io) => (await import('./caddyfile.ts')).printCaddyfile(io)));
}

function defineCa(program: Program, run: Run): void {
  program
    .command('ca')
    .description('print the root certificate of the local CA, for clients on this machine')
    .addOption(urlOption())
    .addOption(jsonOption())
    .addHelpText('after', notes(whatFor, 'Any API key works, from SIGNPOST_API_KEY or API_KEY.'))
    .action((options) => run(async (io) => (await import('./ca.ts')).printLocalCa(options, io)));
}

const whatFor =
  'Without a CA that browsers trust, a local CA signs. For example: node bin/signpost.mjs ca > root.pem; curl --cacert root.pem https://…';

// Shell completion that works from a checkout, where `signpost` is a file and not on the PATH.

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

/** Call it last: it describes the commands of `program`. */
function defineCompletion(program: Program, io: Io): void {
  // The cast bridges the typings of two packages.
  tab(program as unknown as Parameters<typeof tab>[0], { completionCommandName: 'completion' });
  program.commands
    .find((one) => one.name() === 'completion')
    ?.description('print a shell completion script; it also defines signpost for the shell')
    .action((...[shell]: unknown[]) => io.out(completionScript(String(shell))));
}

/** Can be sourced again. Defines `signpost` for the shell, unless there is such a command. */
function completionScript(shell: string): string {
  const program = fileURLToPath(new URL('bin/signpost.mjs', projectRoot));
  const command = `node ${quoted(program)}`;
  // A second `readonly` of the same name is an error in bash.
  const completion = printedBy(() => script(shell, 'signpost', command)).replace(
    /^readonly /gm,
    '',
  );
  return `${completion}\n${functionFor[shell as Shell](command)}\n`;
}

const functionFor: Readonly<Record<Shell, (command: string) => string>> = {
  bash: posix,
  zsh: posix,
  fish: (command) => `type -q signpost; or function signpost; ${command} $argv; end`,
  powershell: (command) =>
    `if (-not (Get-Command signpost -ErrorAction SilentlyContinue)) { function global:signpost { & ${command} @args } }`,
};

function posix(command: string): string {
  return `type signpost >/dev/null 2>&1 || signpost() { ${command} "$@"; }`;
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

/** The library only prints. */
function printedBy(act: () => void): string {
  const lines: unknown[] = [];
  const { log } = console;
  console.log = (line) => void lines.push(line);
  try {
    act();
  } finally {
    console.log = log;
  }
  return lines.join('\n');
}

function defineFleet(program: Program, run: Run): void {
  const fleet = program
    .command('fleet')
    .usage('[command] [options]')
    .description('show the processes of a running installation, and accept a configuration')
    .addHelpText(
      'after',
      notes(
        'The API key is read from SIGNPOST_API_KEY or API_KEY. To list needs the scope ops:read, to accept admin.',
      ),
    );

  fleet
    .command('list', { isDefault: true })
    .description('show all processes, the last one started first')
    .addOption(urlOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      notes(
        'Exit 0: all agree. Exit 1: a configuration differs, or a process cannot reach Redis. Exit 2: bad usage, a refused request, or the service is unreachable.',
      ),
    )
    .action((options) =>
      run(async (io) => (await import('./fleet/processes.ts')).listProcesses(options, io)),
    );

  fleet
    .command('accept')
    .description('make the settings of a refused process those of the installation')
    .argument('[id]', 'ID of the refused process, as list --json shows it (default: the last one)')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) =>
        (await import('./fleet/processes.ts')).acceptConfiguration(id, options, io),
      ),
    );
}
