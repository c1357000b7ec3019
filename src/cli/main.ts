/** The command line: `signpost <command>`. */
import { runDemo } from './demo/demo.ts';

const commands: Readonly<Record<string, () => Promise<void>>> = {
  // A person reads along; a pipe does not.
  demo: () =>
    runDemo((line) => process.stdout.write(`${line}\n`), process.stdout.isTTY ? 2_000 : 0),
};

const usage = `Usage: signpost <command>

  demo    a customer's domain goes live on this machine, with the classic mistakes on the way
`;

const name = process.argv[2] ?? '';
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (fault) {
    process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
    process.exitCode = 1;
  }
}
