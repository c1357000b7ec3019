import pg from 'pg';
import type { Fault } from '../fault.ts';
import { sleep } from '../system/wait.ts';

const FULL_MS = 15_000;

export const diskFull: Fault = {
  name: 'disk-full',
  what: `PostgreSQL's disk full for ${FULL_MS / 1_000} s; restarted if PostgreSQL exits`,
  pass: 'writes are 503, no acknowledged write is lost, known names are served',
  seconds: 20,
  parts: ['postgres'],
  tolerance: { api: '503', visitors: 'none' },
  recoverySeconds: 30,
  mayLoseOrders: true,
  cannotRun: ({ disk }) => (disk === null ? 'this user may not mount a small disk' : null),
  async inject({ ledger, system }) {
    const { disk, postgres } = system;
    if (disk === null) throw new Error('there is no disk');
    const before = ledger.failures.length;
    await disk.fill();
    await sleep(FULL_MS);
    await disk.empty();
    const isUp = await answers(postgres.url);
    // PostgreSQL exits when it cannot write its log; an operator restarts it when there is room.
    if (!isUp) {
      await postgres.stop();
      await postgres.restart();
    }
    const refused = ledger.failures.length - before;
    return {
      seen: [`PostgreSQL ${isUp ? 'went on' : 'had ended'}`, `${refused} requests refused`],
    };
  },
};

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
