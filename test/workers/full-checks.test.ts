/** Within a worker, too, a large account leaves room for the others, and slow name servers do not hold up quick ones. */
import { expect, it } from 'vitest';
import { createFullChecks } from '../../workers/running/full-checks.ts';

/** A check that begins when it has its place, and ends when it is told. */
function aCheck() {
  let end = () => {};
  let begin = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const run = () => {
    begin();
    return ended;
  };
  return { run, begun, end: () => end() };
}

const checks = (count: number) => Array.from({ length: count }, aCheck);

it('gives the next place to the account with the fewest checks under way', async () => {
  const inPlace = createFullChecks({ utilization: () => 1 });
  const order: string[] = [];
  const note = (account: string) => async () => void order.push(account);
  const first = checks(4);
  const held = first.map(({ run }) => inPlace('large', run));
  const later = ['large', 'large', 'small'].map((account) => inPlace(account, note(account)));
  await Promise.all(first.map(({ begun }) => begun));
  expect(order).toEqual([]);
  for (const { end } of first) end();
  await Promise.all([...held, ...later]);
  expect(order[0]).toBe('small');
  expect(order).toHaveLength(3);
});

it('begins more and more while the process has time left', async () => {
  const inPlace = createFullChecks({ utilization: () => 0.1 });
  const many = checks(100);
  const all = many.map(({ run }) => inPlace('large', run));
  await Promise.all(many.map(({ begun }) => begun));
  for (const { end } of many) end();
  await Promise.all(all);
});

it('goes on beside checks that wait for the network, however busy the process is', async () => {
  const inPlace = createFullChecks({ utilization: () => 1 });
  const slow = checks(12);
  const all = slow.map(({ run }) => inPlace('large', run));
  await inPlace('small', async () => {});
  await Promise.all(slow.map(({ begun }) => begun));
  for (const { end } of slow) end();
  await Promise.all(all);
});

it('gives the place of a check that fails to the next one, and the fault to its caller', async () => {
  const inPlace = createFullChecks({ utilization: () => 1 });
  const failing = Array.from({ length: 5 }, () =>
    inPlace('large', async () => {
      throw new Error('no answer');
    }),
  );
  await expect(Promise.all(failing)).rejects.toThrow('no answer');
  expect(await inPlace('large', async () => 'seen')).toBe('seen');
});
