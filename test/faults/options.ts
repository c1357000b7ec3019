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

/** A sentence where a variable is wrong: with the names that there are, where one of FAULTS is none of them. */
export function readOptions(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Options | string {
  const numbers = ['SEED', 'MINUTES', 'DOMAINS'] as const;
  const odd = numbers.find((name) => env[name] && !/^\d+(\.\d+)?$/.test(env[name]));
  if (odd !== undefined) return `${odd} is no number: ${env[odd]}`;
  const faults = env['FAULTS'] ? env['FAULTS'].split(',').map((name) => name.trim()) : null;
  for (const name of faults?.flatMap((each) => each.split('+')) ?? []) {
    if (!names.includes(name)) {
      return `no fault is named ${name}; there are\n  ${names.join('\n  ')}`;
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
  return env[name] ? Number(env[name]) : null;
}
