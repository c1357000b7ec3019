import type { Io } from '../../src/cli/command.ts';

export type Said = { readonly out: () => string; readonly err: () => string };

/** `env` as the only environment: no .env file, terminal or Ctrl-C; `said` has the output. */
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
