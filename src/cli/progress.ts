import { printable } from '../core/names/printable.ts';
import type { Io } from './command.ts';
import { cut } from './layout.ts';

/** If the screen cannot rewrite a line, only permanent lines are printed. */
export type Progress = {
  /** Rewrites the line, cut to the screen width and made printable. */
  readonly show: (line: string) => void;
  /** Prints permanent, printable lines above the progress line. */
  readonly say: (...lines: readonly string[]) => void;
};

/** Wider than any screen. */
const LINE_LENGTH_MAX = 1_000;
/** ECMA-48, 8.3.41: erases the line. */
const ERASE = '\r\u001b[K';

type Wait = {
  readonly line: string;
  /** Printed after Ctrl-C, to say what continues. */
  readonly farewell?: string;
};

/** Shows the line on standard error until `act` ends. Ctrl-C ends the process, not just `act`. */
export async function withProgress<T>(
  { line, farewell }: Wait,
  { err, screen, env, interruptions }: Pick<Io, 'err' | 'screen' | 'env' | 'interruptions'>,
  act: (progress: Progress) => Promise<T>,
): Promise<T> {
  const sayLines = (lines: readonly string[]) => lines.map((one) => `${one}\n`).join('');
  // Such a terminal would print the sequence instead of interpreting it.
  if (!screen.err || env['TERM'] === 'dumb') {
    return act({ show: () => {}, say: (...lines) => err(sayLines(lines)) });
  }
  let shown = '';
  const show = (text: string) => {
    shown = cut(printable(text, LINE_LENGTH_MAX), screen.columns - 1); // a full line would wrap
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
