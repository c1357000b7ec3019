/** The key that a command is about. */
import { type Outcome, wrongUsage } from '../command.ts';

export type KeyId =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly refusal: Outcome };

const whichId = 'the part after signpost_, up to the next _';

/** What is said where there is none. */
export const missingKeyId = `the id of the key is missing: ${whichId}; signpost keys list shows it`;

/** An id, or the prefix of a key. Anything longer may be a key, which does not belong into the arguments of a command. */
export function keyIdOf(argument = ''): KeyId {
  const [, id] = /^(?:signpost_)?([0-9A-Za-z]{1,64})$/.exec(argument) ?? [];
  if (id !== undefined) return { ok: true, id };
  return { ok: false, refusal: wrongUsage(`give the id of a key: ${whichId}`) };
}
