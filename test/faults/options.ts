/** What the environment asks for. */

export type Options = {
  readonly seed: number;
  /** Names of faults, or of two with a plus between; null: all. */
  readonly faults: readonly string[] | null;
  /** Faults begin only where they are likely to be over by then; null: each once, then some pairs. */
  readonly minutes: number | null;
  readonly domains: number;
  /** Where the report is written; null: nowhere. */
  readonly report: string | null;
};

/** Throws, with the names that there are, where one of FAULTS is none of them. */
export function readOptions(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Options {
  const faults = env['FAULTS'] ? env['FAULTS'].split(',').map((name) => name.trim()) : null;
  for (const name of faults?.flatMap((each) => each.split('+')) ?? []) {
    if (!names.includes(name)) {
      throw new Error(`no fault is named ${name}; there are\n  ${names.join('\n  ')}`);
    }
  }
  const seed = numberOf(env, 'SEED') ?? Math.floor(Math.random() * 2 ** 32);
  const minutes = numberOf(env, 'MINUTES');
  return {
    seed,
    faults,
    minutes,
    domains: numberOf(env, 'DOMAINS') ?? (minutes !== null && minutes <= 5 ? 80 : 300),
    report: env['REPORT'] || null,
  };
}

function numberOf(env: Readonly<Record<string, string | undefined>>, name: string): number | null {
  const text = env[name];
  if (!text) return null;
  const number = Number(text);
  if (!Number.isFinite(number) || number < 0) throw new Error(`${name} is no number: ${text}`);
  return number;
}
