/** Recognises a key in a header that is written down as it is: in the log, or beside an answer that is kept. */

import { holdsKey } from '../../config/api-key.ts';
import type { Headers } from '../pipeline/route.ts';

/** Whether a header's value gives a key away, or a good part of one. */
export type IsSecret = (value: string, headers: Headers) => boolean;

/** A shorter part of a key helps nobody to guess the rest. */
const PART_LENGTH = 12;

/** Knows the keys of our making by their shape, API_KEY because it is told, and any other by the request that brings it. */
export function createIsSecret(configured: string | undefined): IsSecret {
  return (value, { authorization = '' }) =>
    holdsKey(value) ||
    (configured !== undefined && value.includes(configured)) ||
    (value.length >= PART_LENGTH && authorization.includes(value));
}
