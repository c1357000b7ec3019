import { expect, it } from 'vitest';
import { priorityOf, slotOf } from '../../src/core/operations/job-priority.ts';

const at = (time: string) => slotOf(new Date(`${time}Z`));

it.each([
  { nth: 1, doublings: 0 },
  { nth: 2, doublings: 1 },
  { nth: 3, doublings: 1 },
  { nth: 4, doublings: 2 },
  { nth: 10_000, doublings: 13 },
])('the $nth. job of an account comes $doublings slots later', ({ nth, doublings }) => {
  expect(priorityOf(500, nth) - priorityOf(500, 1)).toBe(doublings);
});

it('a job of ten minutes later comes after those of before, unless its account asks for less', () => {
  const [now, later] = [at('2026-11-24T12:00:00'), at('2026-11-24T12:10:00')];
  expect(at('2026-11-24T12:09:59.999')).toBe(now);
  expect(priorityOf(later, 1)).toBeGreaterThan(priorityOf(now, 1));
  expect(priorityOf(later, 1)).toBeLessThan(priorityOf(now, 4));
});

it('the priorities are BullMQ’s, before 2026 and for forty years', () => {
  expect(priorityOf(at('1970-01-01T00:00:00'), 1)).toBe(1);
  expect(priorityOf(at('2065-01-01T00:00:00'), 2 ** 20)).toBeLessThan(2 ** 21 - 1);
  expect(priorityOf(at('2999-01-01T00:00:00'), 1)).toBe(2 ** 21 - 1);
});
