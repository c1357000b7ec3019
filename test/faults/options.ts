export type Options = {
  readonly seed: number;
  /** Names of faults, or two joined by a plus; null: all. */
  readonly faults: readonly string[] | null;
  /** Faults start only if they are likely to finish in time; null: each once, then some pairs. */
  readonly minutes: number | null;
  readonly domains: number;
  /** Path of the report; null: none. */
  readonly report: string | null;
};

/** Returns an error text for a wrong variable; for FAULTS it lists the valid names. */
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
