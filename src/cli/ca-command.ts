import { jsonOption, notes, type Program, type Run, urlOption } from './command.ts';

export function defineCa(program: Program, run: Run): void {
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
