/**
 * In which order due jobs run: accounts take turns, and nobody waits for ever. A priority is the ten minutes in which a job
 * was due, and later by how much its account has asked for in them; so it is never changed while the job waits, and costs
 * no more than BullMQ's own order.
 */

/** Ten minutes: the 2^21 priorities of BullMQ (6.7) last for 40 years. Our choice. */
const SLOT_MS = 600_000;
/** Earlier slots are all the first one: only tests live there. */
const FIRST_SLOT_AT = Date.UTC(2026, 0, 1);
/** 0 is BullMQ's "no priority", which runs before all others. */
const LEAST = 1;
const MOST = 2 ** 21 - 1;

/** The ten minutes that a time lies in, counted from 2026; 0 before that. */
export function slotOf(at: Date): number {
  return Math.max(0, Math.floor((at.getTime() - FIRST_SLOT_AT) / SLOT_MS));
}

/**
 * Returns BullMQ's priority, 1 to 2^21 - 1, of a job that is the `nth` of its account in its slot, counted from 1. The lowest
 * runs first, and of equal ones the one that waits longer. An account's 1st job comes with the 1st of every other one, its
 * 2nd and 3rd with theirs, its 4th to 7th, and so on: each gets at least half of what turns one by one would give it. A
 * job comes later by as many slots as its `nth` has doublings, so only jobs due within those slots after it come before it:
 * three hours for the 262,144th.
 */
export function priorityOf(slot: number, nth: number): number {
  return Math.min(MOST, LEAST + slot + Math.floor(Math.log2(Math.max(1, nth))));
}
