/** With few file descriptors and a greedy visitor, the API, health and removals still work. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createClient } from '../support/client.ts';
import { closeAfterAll } from '../support/closings.ts';
import { startLimitedProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const DESCRIPTORS = 600;
const closings = closeAfterAll();
const without = lacks('postgres', 'a process with few descriptors');
const canLimit = spawnSync('sh', ['-c', `ulimit -n ${DESCRIPTORS}`]).status === 0;

test.skipIf(without || !canLimit)(
  'visitors cannot use up the file descriptors',
  async () => {
    const { storage, close } = await freshStorage();
    closings.push(close);
    const env = { EDGE_CONNECTIONS_PER_ADDRESS: '5000', EDGE_HANDSHAKES_PER_ADDRESS: '5000' };
    const world = await startWorld({ storage, ca: 'local authority', env });
    closings.push(world.close);
    const signpost = await startLimitedProcess(world.env, DESCRIPTORS);
    closings.push(() => signpost.stop());
    const client = createClient(world);
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);
    await until('live', async () => (await client.domain()).status === 'live');

    const held: Socket[] = [];
    closings.push(() => void held.map((socket) => socket.destroy()));
    for (let count = 1; count <= DESCRIPTORS; count += 1) {
      const socket = connect({ host: '127.0.0.1', port: world.edgeHttpsPort });
      socket.on('error', () => {}).resume();
      held.push(socket);
      await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
    }
    await until('some are refused', async () => held.some(({ destroyed }) => destroyed));
    expect((await fetch(`${world.apiUrl}/readyz`)).status).toBe(200);
    expect((await client.domain()).status).toBe('live');
    const removed = await client.call('DELETE', client.domainPath);
    expect(removed.status).toBe(204);
  },
  120_000,
);
