/** Injects one fault under load, ends it, waits for recovery and checks the invariants. */
import type { Fault, Seen, World } from './fault.ts';
import { few, type Invariant } from './invariants/invariant.ts';
import type { Failure } from './load/ledger.ts';
import { secondsUntilWorking } from './recovery.ts';
import { sleep } from './system/wait.ts';

type Check = {
  readonly id: string;
  readonly words: string;
  readonly violations: readonly string[];
};

export type Outcome = {
  readonly fault: Fault;
  readonly seen: readonly string[];
  readonly slow: readonly string[];
  /** Null if the system never recovered. */
  readonly recoverySeconds: number | null;
  readonly checks: readonly Check[];
};

/** Requests under way at recovery may have started during the fault. */
const CALM_MS = 500;

export async function runFault(
  world: World,
  fault: Fault,
  invariants: readonly Invariant[],
): Promise<Outcome> {
  const began = performance.now();
  const injected: Seen = await fault.inject(world).catch((thrown: unknown) => ({
    wrong: [`it could not be brought about and taken back as it should: ${inWords(thrown)}`],
  }));
  const recovered = await secondsUntilWorking(world).then(
    (seconds) => ({ seconds, wrong: [] }),
    (thrown: unknown) => ({ seconds: null, wrong: [inWords(thrown)] }),
  );
  const calmAt = performance.now() + CALM_MS;
  const held = await Promise.all(invariants.map((each) => checkOne(each, world, fault)));
  await sleep(CALM_MS);
  const failures = world.ledger.failures.filter(({ at }) => at >= began);
  const { seconds } = recovered;
  return {
    fault,
    seen: [...(injected.seen ?? []), ...countFailures(failures, calmAt)],
    slow: [...(injected.slow ?? []), ...slowRecovery(fault, seconds)],
    recoverySeconds: seconds,
    checks: [
      { id: 'fault', words: fault.pass, violations: injected.wrong ?? [] },
      { id: 'recovery', words: 'everything works again', violations: recovered.wrong },
      {
        id: 'requests',
        words: 'only tolerated requests fail',
        violations: few(notAllowed(fault, failures, calmAt)),
      },
      ...held,
    ],
  };
}

async function checkOne(
  { id, words, check }: Invariant,
  world: World,
  fault: Fault,
): Promise<Check> {
  const violations = await check(world, fault).catch((thrown: unknown) => [
    `it could not be checked: ${inWords(thrown)}`,
  ]);
  return { id, words, violations };
}

function notAllowed({ tolerance }: Fault, failures: readonly Failure[], calmAt: number): string[] {
  const isAllowed = ({ at, who, status }: Failure) => {
    if (at > calmAt) return false;
    if (who === 'visitor') return tolerance.visitors === 'any';
    return tolerance.api === 'any' || (tolerance.api === '503' && status === 503);
  };
  return failures
    .filter((failure) => !isAllowed(failure))
    .map(({ at, what, status }) => {
      const when = at > calmAt ? ', when everything worked again' : '';
      return `${what} (${status === 0 ? 'no answer' : status})${when}`;
    });
}

function countFailures(failures: readonly Failure[], calmAt: number): string[] {
  const during = failures.filter(({ at }) => at <= calmAt);
  return (['api', 'visitor'] as const).flatMap((who) => {
    const own = during.filter((one) => one.who === who);
    if (own.length === 0) return [];
    const answered = own.filter(({ status }) => status === 503).length;
    const how = answered > 0 ? ` (${answered} of them 503)` : '';
    return [`${own.length} ${who === 'api' ? 'API requests' : 'visits'} failed${how}`];
  });
}

function slowRecovery({ recoverySeconds }: Fault, seen: number | null): string[] {
  if (seen === null || seen <= recoverySeconds) return [];
  return [`everything worked again after ${seen.toFixed(1)} s, goal ${recoverySeconds} s`];
}

function inWords(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
