import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endWithThisProcess } from '../support/children.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { until } from '../support/world.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const secret = `whsec_${randomBytes(32).toString('base64')}`;
const signer = new Webhook(secret);

async function startReceiver(program: string, path: string) {
  const port = await freePort();
  const child = spawn(program, [`${root}${path}`], {
    env: { PATH: process.env['PATH'], PORT: String(port), SIGNPOST_WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithThisProcess(child);
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const printed: string[] = [];
  createInterface(child.stdout).on('line', (line) => void printed.push(line));
  const post = async (id: string, sentAt: Date, signature: string, body: string) => {
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
      'webhook-signature': signature,
    };
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
    return response.status;
  };
  await until('listening', () => post('', new Date(), '', '').catch(() => null));
  return { printed, post };
}

describe.each([
  { path: 'docs/integrate/receiver.mjs', program: 'node' },
  { path: 'docs/integrate/receiver.py', program: 'python3' },
] as const)('The receiver in $path', ({ path, program }) => {
  const skips = program === 'python3' && lacks('python3', 'the receiver in Python');
  it.skipIf(skips)('prints each signed message once and rejects unsigned ones', async () => {
    const { printed, post } = await startReceiver(program, path);
    const message = { type: 'domain.live', data: { id: '7', hostname: 'docs.example.com' } };
    const body = JSON.stringify(message);
    const now = new Date();
    const signature = signer.sign('msg_1', now, body);
    expect(await post('msg_1', now, signature, body)).toBe(204);
    expect(await post('msg_1', now, signature, body)).toBe(204);
    expect(
      await post('msg_1', now, `v1,${randomBytes(32).toString('base64')} ${signature}`, body),
    ).toBe(204);

    expect(await post('msg_2', now, signature, body)).toBe(400);
    expect(await post('msg_1', now, signature, `${body} `)).toBe(400);
    expect(await post('msg_1', now, 'v1,', body)).toBe(400);
    const old = new Date(now.getTime() - 6 * 60_000);
    expect(await post('msg_3', old, signer.sign('msg_3', old, body), body)).toBe(400);
    expect(printed).toEqual(['7 domain.live docs.example.com']);
  });
});
