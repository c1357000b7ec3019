/** The commands, their options and their help. What each one does is loaded when it runs: the demo brings the service. */
import { readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import { Command } from '@commander-js/extra-typings';
import { projectRoot } from '../db/engine/migrate.ts';
import { defineAccounts } from './accounts/command.ts';
import { defineAudit } from './audit/command.ts';
import { done, type Io, jsonOption, notes, type Program, type Run, urlOption } from './command.ts';
import { defineDomains } from './domains/command.ts';
import { defineKeys } from './keys/command.ts';
import { columnsFor, createPaint, wantsColour } from './layout.ts';

/**
 * Returns the program with every command defined. `settle` gets the outcome of the one command that runs, and is not
 * called for help, a version or a mistake. Mistakes of whoever typed are thrown by `parseAsync`, as CommanderError.
 */
export function createProgram(
  io: Io,
  settle: (outcome: Awaited<ReturnType<Act>>) => void,
): Program {
  const run: Run = async (act) => {
    io.readEnvFile();
    settle(await act(io));
  };
  const program: Program = new Command('signpost');
  program
    .usage('<command> [options]')
    .version(version(), '-v, --version', 'show which version this is')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: () => {}, // signpost.ts says it
      getOutHelpWidth: () => columnsFor(io.screen.columns),
      getErrHelpWidth: () => columnsFor(io.screen.columns),
      getOutHasColors: () => true, // styleTitle decides
      getErrHasColors: () => true,
    })
    .configureHelp({ styleTitle: (title) => paint('bold', title) })
    .addHelpText('after', exitCodes);
  const paint = createPaint(wantsColour(io.env, io.screen.out));
  // The demo is a platform of its own: another one's .env is not for it.
  defineDemo(program, async (act) => settle(await act(io)));
  for (const define of [
    defineAccounts,
    defineAudit,
    defineDoctor,
    defineDomains,
    defineEdge,
    defineKeys,
    defineRotateKeys,
    defineZone,
  ]) {
    define(program, run);
  }
  // `signpost completion bash|zsh|fish|powershell`. It writes past `io`, to the process's own output.
  // The typings are another package's; the object is the library's own.
  tab(program as unknown as Parameters<typeof tab>[0], { completionCommandName: 'completion' });
  program.commands
    .find((one) => one.name() === 'completion')
    ?.description('print the script by which a shell completes commands and options');
  return program;
}

type Act = Parameters<Run>[0];

const exitCodes = notes(
  'Exit 0: it worked. Exit 1: check failed. Exit 2: bad usage, a refused request, or no answer.',
);

/** As package.json has it. */
function version(): string {
  const text = readFileSync(new URL('package.json', projectRoot), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}

/** Between two acts, ms: long enough to read one. A pipe does not read along. */
const PAUSE_MS = 2_000;

/** `run` must leave the .env file alone: the demo's service has a configuration of its own. */
function defineDemo(program: Program, run: Run): void {
  program
    .command('demo')
    .description(
      'watch a customer’s domain go live on this machine, with the classic mistakes on the way',
    )
    .addHelpText(
      'after',
      notes(
        'It starts a service, a name server and a project’s deploy on ports of their own, and plays a customer until the domain is live. It takes less than half a minute, leaves nothing behind and touches no running service.',
        'Exit 0: the domain went live. Exit 1: it did not.',
      ),
    )
    .action(() =>
      run(async ({ out, screen }) => {
        out('Starting Signpost, a name server and a deploy on this machine …\n\n');
        // Only now: it brings the whole service with it, which takes seconds.
        const { runDemo } = await import('./demo/demo.ts');
        await runDemo((line) => out(`${line}\n`), screen.out ? PAUSE_MS : 0);
        return done;
      }),
    );
}

/** Checks from here or asks the service, by whether there is a target. */
function defineDoctor(program: Program, run: Run): void {
  program
    .command('doctor')
    .description('check the DNS of a host name: what every server shows, what is wrong, what to do')
    .argument('<hostname>', 'in any spelling: Unicode, upper case, a pasted URL')
    .option(
      '--target <host>',
      'what its record must point to; the check then runs here, without service or key',
    )
    .option(
      '--reach',
      'also ask the addresses on ports 80 and 443, and the certificate authority whether it is well',
    )
    .addOption(urlOption())
    .addOption(jsonOption('the answer of GET /v1/diagnosis/{hostname} on standard output'))
    .addHelpText(
      'after',
      notes(
        'It asks every name server once and says what each answers and who has to act. Nothing is stored and nothing has to be attached.',
        'Without --target the running service is asked, which knows the target of an attached domain. With --target this machine checks, with the DNS_… variables of the service. The key to call the service with, one with the scope domains:read, is taken from SIGNPOST_API_KEY or API_KEY.',
        'Exit 0: set up right. Exit 1: check failed. Exit 2: couldn’t check.',
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
    .description('reseal what is stored with the first key of KEY_ENCRYPTION_KEY')
    .option('--check', 'change nothing, say what is sealed with which key')
    .option('--edges', 'seal what edges open with the key that they are given, from now on')
    .addHelpText(
      'after',
      notes(
        'That is: the keys of certificates, accounts and the local authority, the secrets of webhooks, and the derived secrets. Run it while the service runs, once every process has the new key first; docs/operations.md has the whole of it (“A new key encryption key”).',
        'KEY_ENCRYPTION_KEY (the new key, a comma, the key of before) and DATABASE_URL are the service’s own, from the environment or .env; never arguments, which show in lists of processes. On embedded storage stop the service first. It may be stopped at any moment and run again: what is done stays done.',
        'Exit 0: no key but the first is needed any more. Exit 1: another one still is. Exit 2: bad usage, or that could not be found out.',
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
    .description('show the DNS records to publish for the platform itself, as lines of a zone file')
    .option('--ttl <seconds>', 'of every record, 1 to 86400; 300 where it is left out')
    .option('--accounturi <url>', 'only our account may be issued for (RFC 8657)')
    .option(
      '--validationmethods <methods>',
      'only by these: ACME_CHALLENGE’s, or http-01,tls-alpn-01 (RFC 8657)',
    )
    .addOption(jsonOption('the same records for programs'))
    .addHelpText(
      'after',
      notes(
        'They stand below PLATFORM_DOMAIN: the edge’s addresses, and the CAA records by which a customer’s own do not keep a subdomain from its certificate. docs/platform-zone.md says why.',
        'They are made of the service’s PLATFORM_DOMAIN, PLATFORM_ADDRESSES, ACME_ISSUER_DOMAINS, ACME_FALLBACK_ISSUER_DOMAINS and ACME_CONTACT, from the environment or .env. Nothing is asked or changed.',
        'Exit 0: done. Exit 2: something is missing or wrong.',
      ),
    )
    .action((options) =>
      run(async (io) => {
        const { runZone } = await import('./zone.ts');
        return runZone(options, io);
      }),
    );
}

/** `edge` alone does nothing: whoever calls it is shown its commands. */
function defineEdge(program: Program, run: Run): void {
  const edge = program
    .command('edge')
    .usage('<command> [options]')
    .description('print what an edge, or a server in front of it, needs');

  edge
    .command('key')
    .description(
      'print the KEY_ENCRYPTION_KEY of edges, which opens what they serve and nothing else',
    )
    .addHelpText(
      'after',
      notes(
        'It is made of KEY_ENCRYPTION_KEY, from the environment or .env; nothing is asked or stored. Give it to processes with ROLE=edge in the place of the whole one, once “rotate-keys --edges” has run where the installation is older than edge keys; docs/operations.md has the whole of it (“The key of edges”).',
        'Exit 0: done. Exit 2: KEY_ENCRYPTION_KEY is missing or wrong.',
      ),
    )
    .action(() => run(async (io) => (await import('./rotate-keys.ts')).printEdgeKey(io)));

  edge
    .command('caddyfile')
    .description('print the configuration of a Caddy in front of the edge (EDGE=caddy)')
    .addHelpText(
      'after',
      notes(
        'It is made of HOST, EDGE_HTTP_PORT, EDGE_HTTPS_PORT, PUBLIC_HTTPS_PORT, EDGE_CADDY_ADDRESS and TRUSTED_PROXIES, from the environment or .env. It names no customer and holds no secret: Caddy reads EDGE_CADDY_SECRET from its own environment. docs/edge.md says how the two are run.',
        'Exit 0: done. Exit 2: a variable is wrong.',
      ),
    )
    .action(() => run(async (io) => (await import('./caddyfile.ts')).printCaddyfile(io)));
}
