/** An escalation while workers are killed: it stays one, with one event, and is updated. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/db/engine/client.ts';
import { startBeside } from '../support/beside.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess, startQuickWorker, startReplaceableProcess } from '../support/process.ts';
import { isLongRun, sizeOfRun } from '../support/run.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage, storagesOfRun } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';

const closings = closeAfterEach();

const KILLS = sizeOfRun({ quick: 1, long: 3 });
const servers = storagesOfRun('postgres').filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, while workers are killed', ({ name, available }) => {
  it.skipIf(!available)(
    'an open escalation is updated and not duplicated',
    async () => {
      const { storage, close } = await freshStorage(name);
      closings.push(close);
      const ACME_DIRECTORY_URL = `https://localhost:${await freePort()}/dir`;
      const env = { ESCALATE_AFTER: '2s', ACME_DIRECTORY_URL };
      const world = await startWorld({ storage, ca: 'local authority', env });
      closings.push(world.close);
      closings.push((await startBeside({ ...world.env, ROLE: 'api' })).stop);
      const start = isLongRun ? startProcess : startQuickWorker;
      const worker = await startReplaceableProcess({ ...world.env, ROLE: 'worker' }, start);
      closings.push(worker.stop);
      const { prisma, close: closeDatabase } = await openDatabase(
        storage,
        pino({ level: 'silent' }),
      );
      closings.push(closeDatabase);

      const client = createClient(world);
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);
      const first = await until('an escalation', () => prisma.escalation.findFirst());
      for (let kills = 0; kills < KILLS; kills += 1) {
        const { escalateAt: before } = await prisma.domain.findFirstOrThrow();
        await worker.replace();
        await until('another check', async () => {
          const { escalateAt } = await prisma.domain.findFirstOrThrow();
          return escalateAt !== null && before !== null && escalateAt > before;
        });
      }
      const [only, ...others] = await prisma.escalation.findMany();
      expect(others).toEqual([]);
      expect(only).toMatchObject({ id: first.id, openedAt: first.openedAt, closedAt: null });
      expect(only?.evidence).not.toEqual(first.evidence);
      const story = await client.story();
      expect(story.filter((event) => event.startsWith('escalation.'))).toEqual([
        'escalation.opened',
      ]);
    },
    400_000,
  );
});
