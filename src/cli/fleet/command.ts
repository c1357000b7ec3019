import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

export function defineFleet(program: Program, run: Run): void {
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
      run(async (io) => (await import('./processes.ts')).listProcesses(options, io)),
    );

  fleet
    .command('accept')
    .description('make the settings of a refused process those of the installation')
    .argument('[id]', 'ID of the refused process, as list --json shows it (default: the last one)')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./processes.ts')).acceptConfiguration(id, options, io)),
    );
}
