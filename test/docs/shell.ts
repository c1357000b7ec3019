/** Runs shell blocks of documents against a service on free ports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** Text of a document and its replacement in a test. Each must occur. */
export type Replacements = readonly (readonly [string, string])[];

export function replaceAll(script: string, replacements: Replacements): string {
  return replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the document does not say ${from} any more`);
    return text.replaceAll(from, to);
  }, script);
}

/** Runs a bash script in the checkout. Ends its background jobs and fails at the first error. */
export async function runShell(script: string, env: Readonly<Record<string, string>> = {}) {
  const endBackground = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT";
  const child = spawn('bash', ['-euo', 'pipefail', '-c', `${endBackground}\n${script}`], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, code };
}

/**
 * Runs one line of a document in bash until its output matches, then keeps it running in the background. `interrupt`
 * sends Ctrl-C; so does the end of the test.
 */
export async function startLine(
  line: string,
  env: Readonly<Record<string, string>>,
  until: RegExp,
) {
  const child = spawn('bash', ['-c', line], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true, // a process group, which receives Ctrl-C as a whole
  });
  const exited = once(child, 'exit');
  const interrupt = () => {
    if (child.exitCode === null && child.signalCode === null)
      process.kill(-(child.pid ?? 0), 'SIGINT');
    return exited;
  };
  onTestFinished(async () => void (await interrupt()));
  let output = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    if (until.test(output)) break;
  }
  child.stdout.resume();
  return { output, interrupt };
}
