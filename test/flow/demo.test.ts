/** `npm run demo -- --keep` matches docs/tour.md, its last lines work, and Ctrl-C stops it. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { blocksOf } from '../docs/blocks.ts';
import { startLine } from '../docs/shell.ts';
import { isLongRun } from '../support/run.ts';
import { until } from '../support/world.ts';

const cwd = fileURLToPath(new URL('../../', import.meta.url));
const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
const page = fileURLToPath(new URL('../../docs/tour.md', import.meta.url));
const tourInPage = /(?<=<!-- tour -->\n)[\s\S]*?(?=<!-- \/tour -->)/;
const run = promisify(execFile);

/** Removes what differs from run to run: times, the target's label, the CA's name, the day. */
function withoutChance(output: string): string {
  return output
    .replace(/^ *\d+\.\d s {2}/gm, '')
    .replace(/[a-z2-7]{16}(?=\.edge\.signpost\.test)/g, 'k3jw5xqm2c7rtzna')
    .replace(/(Signpost local authority) [0-9a-f]{8}/g, '$1')
    .replace(/valid until .*/g, 'valid for 90 days');
}

function expectTour(output: string): void {
  const tour = `\`\`\`\n${withoutChance(output).trim()}\n\`\`\`\n`;
  const text = readFileSync(page, 'utf8');
  if (process.env['UPDATE_TOUR'] === '1') {
    writeFileSync(
      page,
      text.replace(tourInPage, () => tour),
    );
  }
  expect(tourInPage.exec(readFileSync(page, 'utf8'))?.[0]).toBe(tour);
}

/** Runs the README's command and resolves with its output up to the one that visits the domain. */
async function startDemo() {
  const [, line = ''] = blocksOf('README.md', 'sh');
  const { output, interrupt } = await startLine(
    line,
    {},
    /^Everything keeps running[\s\S]*curl .*\n/m,
  );
  // Without npm's own lines about the script.
  return { output: output.replace(/^(\n|> .*\n)+/, ''), interrupt };
}

const captured = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';

// Repeated, as a check between two responses of a changing zone prints in another order.
it('shows a domain going live, and keeps everything running until Ctrl-C', {
  retry: 2,
}, async () => {
  const { output, interrupt } = await startDemo();
  const [tour = '', rest = ''] = output.split('\nEverything keeps running');
  expectTour(tour);

  const visit = captured(rest, /^ +(curl .*)$/m);
  const { stdout } = await run('bash', ['-c', `${visit} -sS`]);
  expect(stdout).toBe('Hello from the project’s deploy.\n');

  const dashboard = captured(rest, /^Dashboard: +(\S+)$/m);
  const authorization = `Bearer ${captured(rest, /^Key: +(\S+)$/m)}`;
  expect((await fetch(dashboard)).status).toBe(200);
  const projects = await fetch(new URL('v1/projects', dashboard), { headers: { authorization } });
  expect(await projects.json()).toMatchObject([{ slug: 'shop-docs' }]);

  const folder = dirname(captured(visit, /--cacert (\S+)/));
  expect(existsSync(folder)).toBe(true);
  await interrupt();
  // npm can end before the command does.
  await until('the folder is removed', async () => !existsSync(folder));
  await expect(fetch(dashboard)).rejects.toThrow('fetch failed');
});

if (isLongRun)
  it('ends after the tour without --keep', { retry: 2 }, async () => {
    const { stdout } = await run(process.execPath, ['dist/src/cli/main.js', 'demo'], { cwd, env });
    expectTour(stdout);
  });
