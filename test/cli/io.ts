/** The world of a command that no process is behind. */
import type { Io } from '../../src/cli/command.ts';

export type Said = { readonly out: () => string; readonly err: () => string };

/** Nothing but `env` in its environment, no .env file, no screen, no Ctrl-C; `said` has what was written so far. */
export function capturedIo(env: Io['env']): { readonly io: Io; readonly said: Said } {
  let [out, err] = ['', ''];
  const io: Io = {
    env,
    readEnvFile: () => {},
    now: () => new Date(),
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    screen: { out: false, err: false, columns: 80 },
    interruptions: { once: () => {}, off: () => {}, end: () => {} },
  };
  return { io, said: { out: () => out, err: () => err } };
}
