/** What no transaction of ours has: its entry is there before it begins, and says afterwards how it ended. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuditStore } from '../../../src/db/audit.ts';
import { createTransact } from '../../../src/db/engine/transaction.ts';
import { createIsSecret } from '../../../src/http/keys/auth.ts';
import { type Audit, createAudit, type Ending } from '../../../src/http/pipeline/audit.ts';
import { noon } from '../../support/builders.ts';
import { openTestDatabase, type TestDatabase } from '../support.ts';

let database: TestDatabase;
let audit: Audit;
beforeAll(async () => {
  database = await openTestDatabase();
  const { prisma } = database;
  audit = createAudit({
    store: createAuditStore(prisma),
    transact: createTransact(prisma),
    addressOf: () => '192.0.2.1',
    isSecret: createIsSecret('the-configured-key'),
    now: () => noon,
  });
});
afterAll(() => database?.close());

const who = { keyId: 'k1', accountId: null, byInstallation: true };
const originOf = (requestId: string, agent = 'a browser') => ({
  headers: { 'user-agent': agent, cookie: 'secret' },
  remoteAddress: '192.0.2.1',
  requestId,
  sessionId: 's1',
});
const pausing = {
  operationId: 'queues:PUT /api/queues/:queueName/pause',
  object: { kind: 'queue', id: 'check-dns', accountId: null },
} as const;
const done: Ending = { outcome: 'done', code: null };
const entries = (requestId: string) =>
  database.prisma.auditEntry.findMany({ where: { requestId } });

describe('an effect outside of the database', () => {
  it('has its entry before it begins, which stays unknown where nobody says how it ended', async () => {
    let seen: unknown;
    const what = { who, origin: originOf('r1'), act: pausing };
    await audit.around(
      what,
      async () => {
        seen = await entries('r1');
      },
      () => done,
    );
    expect(seen).toMatchObject([{ outcome: 'unknown', objectId: 'check-dns', keyId: 'k1' }]);
    expect(await entries('r1')).toMatchObject([
      { outcome: 'done', code: null, sessionId: 's1', userAgent: 'a browser' },
    ]);
  });

  it('that ends badly has failed', async () => {
    const fault = new Error('the queue is away');
    const what = { who, origin: originOf('r2'), act: pausing };
    const failing = audit.around(
      what,
      () => Promise.reject(fault),
      () => done,
    );
    await expect(failing).rejects.toBe(fault);
    expect(await entries('r2')).toMatchObject([{ outcome: 'failed', code: 'internal_error' }]);
  });

  it('is not begun where the entry cannot be written', async () => {
    const { prisma } = database;
    let isBegun = false;
    await prisma.$executeRaw`ALTER TABLE audit_entry RENAME TO elsewhere`;
    const begin = async () => {
      isBegun = true;
    };
    const what = { who, origin: originOf('r3'), act: pausing };
    await expect(audit.around(what, begin, () => done)).rejects.toThrow();
    await prisma.$executeRaw`ALTER TABLE elsewhere RENAME TO audit_entry`;
    expect(isBegun).toBe(false);
  });
});

describe('a sign-in', () => {
  it('is noted with its session, and with no key in its user agent', async () => {
    const object = { kind: 'session', id: 's1', accountId: null } as const;
    const act = { operationId: 'signIn', object };
    await audit.note(who, originOf('r4', 'a browser with the-configured-key'), act);
    expect(await entries('r4')).toMatchObject([
      { operationId: 'signIn', objectKind: 'session', outcome: 'done', userAgent: null },
    ]);
  });

  it('keeps what is printable of a user agent, cut', async () => {
    const object = { kind: 'session', id: 's1', accountId: null } as const;
    const agent = `é\u001b[31m${'x'.repeat(300)}`;
    await audit.note(who, originOf('r5', agent), { operationId: 'signOut', object });
    expect(await entries('r5')).toMatchObject([{ userAgent: `[31m${'x'.repeat(196)}` }]);
  });
});
