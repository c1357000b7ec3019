/** Additions with and without an Idempotency-Key, whose transactions begin at different times. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import { transact } from '../../src/db/engine/transaction.ts';
import { withinLimits } from '../../src/http/limits/account-limits.ts';
import { databases } from '../support/storage.ts';
import { API_KEY, startTwoAccounts } from './two-accounts.ts';

const available = databases.filter((one) => one.available);

describe.each(available)('Concurrent additions on $name', ({ name }) => {
  it('do not wait for each other in a circle, and do not exceed the limit', async () => {
    const { call, close, one, service } = await startTwoAccounts(name);
    onTestFinished(close);
    const limits = { domains: 6n };
    await call(`PATCH /v1/accounts/${one.accountId}`, { key: API_KEY, json: { limits } });

    const account = await service.database.prisma.account.findUniqueOrThrow({
      where: { id: one.accountId },
    });
    const addNothing = () =>
      withinLimits(service, wholeInstallation, account, ['domains'], async () => ({ status: 201 }));
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    // The one whose turn it is waits for the connection that the other one has.
    const plain = begun.then(addNothing);
    const idempotent = transact(service.database.prisma, async () => {
      begin();
      await new Promise((resolve) => setImmediate(resolve));
      return addNothing();
    });
    expect(await Promise.all([plain, idempotent])).toEqual([{ status: 201 }, { status: 201 }]);

    const add = (nth: number) =>
      call(`POST /v1/projects/${one.projectId}/domains`, {
        key: one.key,
        json: { hostname: `d${nth}.mixed.example` },
        ...(nth % 2 === 0 && { headers: { 'idempotency-key': `key ${nth}` } }),
      });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, nth) => add(nth)));
    const statuses = answers.map(({ status }) => status).sort();
    // The account already has two domains.
    expect(statuses).toEqual([...Array(4).fill(201), ...Array(26).fill(409)]);
  }, 90_000);
});
