/** Durations in milliseconds. */

/** 1,000 ms. */
export const SECOND = 1_000;
/** 60,000 ms. */
export const MINUTE = 60 * SECOND;
/** 3,600,000 ms. */
export const HOUR = 60 * MINUTE;
/** 24 hours in milliseconds; never a calendar day. */
export const DAY = 24 * HOUR;
