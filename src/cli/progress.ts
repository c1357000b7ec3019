/** What is going on, told to a person while it does, and taken back. */
import { printable } from '../core/names/printable.ts';
import type { Io } from './command.ts';
import { cut } from './layout.ts';

/**
 * A line that says what is going on, and lines that stay. Where the screen cannot rewrite a line, only those are
 * printed.
 */
export type Progress = {
  /** Rewrites the line, cut to the width of the screen; what is not fit to be printed in it is escaped. */
  readonly show: (line: string) => void;
  /** Lines that stay, in order, above that one; fit to be printed. */
  readonly say: (...lines: readonly string[]) => void;
};

/** More than any screen is wide. */
const LINE_LENGTH_MAX = 1_000;
/** ECMA-48, 8.3.41: erases the line. */
const ERASE = '\r\u001b[K';

type Wait = {
  /** What is going on. */
  readonly line: string;
  /** Said after Ctrl-C, where somebody may wonder what it has stopped. */
  readonly farewell?: string;
};

/**
 * Acts, with a line on standard error meanwhile, which is gone afterwards, after Ctrl-C too. Returns what `act`
 * returns and rejects with what it rejects with. Ctrl-C does not stop `act`: it ends the process.
 */
export async function withProgress<T>(
  { line, farewell }: Wait,
  { err, screen, env, interruptions }: Pick<Io, 'err' | 'screen' | 'env' | 'interruptions'>,
  act: (progress: Progress) => Promise<T>,
): Promise<T> {
  const sayLines = (lines: readonly string[]) => lines.map((one) => `${one}\n`).join('');
  // Such a terminal would show the sequence instead of obeying it.
  if (!screen.err || env['TERM'] === 'dumb') {
    return act({ show: () => {}, say: (...lines) => err(sayLines(lines)) });
  }
  let shown = '';
  const show = (text: string) => {
    shown = cut(printable(text, LINE_LENGTH_MAX), screen.columns - 1); // a full one would begin the next
    err(`${ERASE}${shown}`);
  };
  const interrupted = () => {
    err(`${ERASE}${farewell === undefined ? '' : `${farewell}\n`}`);
    interruptions.end();
  };
  interruptions.once(interrupted);
  show(line);
  try {
    return await act({ show, say: (...lines) => err(`${ERASE}${sayLines(lines)}${shown}`) });
  } finally {
    interruptions.off(interrupted);
    err(ERASE);
  }
}
