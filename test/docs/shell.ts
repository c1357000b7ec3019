/** Runs shell blocks of documents against a service on free ports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** What a document says, and what a test puts in its place: a port, a key. Each must occur. */
export type Replacements = readonly (readonly [string, string])[];

export function replaceAll(script: string, replacements: Replacements): string {
  return replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the document does not say ${from} any more`);
    return text.replaceAll(from, to);
  }, script);
}

/** Runs a script in bash, in the checkout, and ends what it left in the background. Fails at the first command that fails. */
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
