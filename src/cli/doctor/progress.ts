/** What is going on, told to a person while it does, and taken back. */
import { printable } from '../../core/printable.ts';
import type { Io } from '../command.ts';

/** Where an interruption (Ctrl-C) comes from, and how to end for it as if nobody had listened. */
export type Interruptions = {
  readonly once: (listener: () => void) => void;
  readonly off: (listener: () => void) => void;
  readonly end: () => void;
};

const ofProcess: Interruptions = {
  once: (listener) => void process.once('SIGINT', listener),
  off: (listener) => void process.off('SIGINT', listener),
  end: () => void process.kill(process.pid, 'SIGINT'),
};

const NAME_LENGTH_MAX = 50;
/** ECMA-48, 8.3.41: erases the line. */
const ERASE = '\r\u001b[K';

/** Acts, with a line on a screen meanwhile; the line is gone afterwards, after Ctrl-C too. */
export async function withProgress<T>(
  hostname: string,
  { err, screen, env }: Pick<Io, 'err' | 'screen' | 'env'>,
  act: () => Promise<T>,
  interruptions = ofProcess,
): Promise<T> {
  // Such a terminal would show the sequence instead of obeying it.
  if (!screen.err || env['TERM'] === 'dumb') return act();
  const interrupted = () => {
    err(ERASE);
    interruptions.end();
  };
  interruptions.once(interrupted);
  err(`Looking at ${printable(hostname, NAME_LENGTH_MAX)} …`);
  try {
    return await act();
  } finally {
    interruptions.off(interrupted);
    err(ERASE);
  }
}
