/** What is said of a key that was just made. */
import { printable } from '../../core/names/printable.ts';
import { done, type Io, type Outcome } from '../command.ts';
import { notUnderstood, shownMintedKey } from './shown.ts';

/** The token, or the whole answer, to standard output; words to the other one. */
export function showMinted(
  { text, body }: { readonly text: string; readonly body: unknown },
  json: boolean,
  { out, err }: Io,
  more = '',
): Outcome {
  const minted = shownMintedKey.safeParse(body);
  if (!minted.success) return notUnderstood();
  const { id, name, scopes, expiresAt, key } = minted.data;
  const end = expiresAt === null ? 'without an end' : `until ${expiresAt}`;
  err(`Key ${id} (${printable(name, 40)}) may ${scopes.join(', ')}, ${end}.\n${more}`);
  err('Its token is shown only now:\n');
  out(json ? `${text}\n` : `${key}\n`);
  return done;
}
