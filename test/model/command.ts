/** Commands consist of a text, an action and a comparison. */
import fc from 'fast-check';
import { compare, type Seen } from './compare.ts';
import { DAY, HOUR } from './entry.ts';
import type { Authority, History } from './history.ts';
import type { Shown } from './shown.ts';

export type Real = { readonly history: History; readonly seen: Seen };
/** fast-check's model only serves preconditions, which are unused; ours is in the history. */
export type NoModel = Record<string, never>;
export type Command = fc.AsyncCommand<NoModel, Real, boolean>;

type Act = (history: History) => Promise<void>;

/** A command with its text for the report of a failure. */
export function command(words: string, act: Act): Command {
  return {
    check: () => true,
    async run(_model, { history, seen }) {
      history.log.push(words);
      await act(history);
      await compare(history, seen);
    },
    toString: () => words,
  };
}

// Few projects, so that they often collide.
export const project = fc.constantFrom(0, 0, 1, 1, 2);
export const place = fc.constantFrom(0, 0, 1, 1, 2);

/** The possible DNS of a name. */
export const shows: fc.Arbitrary<Shown> = fc.record({
  record: fc.oneof(
    { weight: 5, arbitrary: project },
    fc.constantFrom('missing' as const, 'silent' as const),
  ),
  servers: rarely('agree', 'disagree'),
  caa: rarely('allows', 'forbids', 'silent'),
  proofs: fc.subarray([0, 1, 2]),
});

function rarely<const T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));
}

/** The possible behaviors of the CA. */
export const authorities: fc.Arbitrary<Authority> = fc.oneof(
  fc.constantFrom<Authority>(
    { kind: 'issues', lifeMs: 90 * DAY },
    { kind: 'issues', lifeMs: 6 * DAY },
    { kind: 'is_silent' },
  ),
  fc.record({
    kind: fc.constant('refuses' as const),
    type: fc.constantFrom('unauthorized' as const, 'rate_limited' as const, 'other' as const),
    waitMs: fc.constantFrom(null, 2 * HOUR),
  }),
);
