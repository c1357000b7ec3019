import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

describe('the tour', () => {
  it('shows a domain going live past the classic mistakes, in under a minute', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/src/cli/main.js', 'demo'],
      { cwd: projectRoot, timeout: 60_000, env: { PATH: process.env['PATH'], NO_COLOR: '1' } },
    );
    const order = [
      'The customer adds docs.shop.test',
      '✗ record_missing',
      '✓ record_missing is gone',
      '✗ conflicting_a',
      '✓ conflicting_a is gone',
      '✗ cname_mismatch',
      '✓ cname_mismatch is gone',
      '✗ caa_blocks',
      '✓ caa_blocks is gone',
      '● domain.verified',
      '● certificate.issued by ',
      '● domain.live',
      'https://docs.shop.test/',
      '200  Hello from the project’s deploy.',
    ];
    const places = order.map((line) => stdout.indexOf(line));
    expect(places, stdout).toEqual([...places].sort((a, b) => a - b));
    expect(Math.min(...places), stdout).toBeGreaterThanOrEqual(0);
  });
});
