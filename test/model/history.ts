/** One history: the service, the model, and their environment, which commands change. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { certificateFault } from '../../src/certificates/fault.ts';
import type { ProblemType } from '../../src/core/certificates/problem-words.ts';
import type { DnsAnswer } from '../../src/core/diagnosis/observation.ts';
import type { SweepName } from '../../src/db/domains/sweeps.ts';
import { ensureSweeps } from '../../workers/reconcile.ts';
import { runOf } from './crash-injector.ts';
import { DAY, type Entry, type Fence, HOUR, MINUTE } from './entry.ts';
import { createModel, type Model } from './model.ts';
import { noteAnswer } from './note-answer.ts';
import { nothingShown, observed, type Place, records, type Shown } from './shown.ts';
import type { SystemUnderTest } from './system.ts';

export type Authority =
  | { readonly kind: 'issues'; readonly lifeMs: number }
  | { readonly kind: 'refuses'; readonly type: ProblemType; readonly waitMs: number | null }
  | { readonly kind: 'is_silent' };

/** `rivals`: when the check was first saved; one may have lost the name since. Null: it proved the name. */
type ModelCheck = {
  readonly entry: Entry;
  seen: Shown;
  counted: boolean;
  rivals: readonly Entry[] | null;
};

/** What a run of a job did, from the outside. */
export type RunRecord = {
  readonly of: string;
  /** The state of each domain when the run read it. */
  readonly fences: Map<Entry, Fence>;
  readonly checks: ModelCheck[];
  /** Its orders by certificate ID: a sweep handles several at once. */
  readonly orders: Map<string, Entry>;
  disturbed: boolean;
  meanwhile: (() => Promise<void>) | null;
};

/**
 * When each sweep next has work, by the rows; Infinity: never. The model's CA has no renewal
 * information, so ask-renewals is omitted.
 */
export type SweepTimes = { readonly [S in Exclude<SweepName, 'ask-renewals'>]: number };

export type History = {
  readonly system: SystemUnderTest;
  readonly model: Model;
  readonly places: readonly Place[];
  readonly projects: readonly string[];
  readonly shown: Map<string, Shown>;
  authority: Authority;
  readonly targets: Map<string, Entry>;
  /** Since when the queue may lack jobs; null: the reconciler has restored all. */
  lostAt: number | null;
  /** When the work that was overdue at the reconciler's run is done. */
  calmAt: number;
  sweepTimes: SweepTimes | null;
  /** Whether a write may have happened since the last comparison. */
  hasRun: boolean;
  /** A customer requested a check, and the job was woken. */
  woken: Entry | null;
  /** An action while the next order is at the CA. */
  atOrder: (() => Promise<void>) | null;
  /** The run with the next order is killed after this many responses. */
  killAtOrder: number | null;
  /** The next run is killed after this many responses. */
  killAfter: number | null;
  maybe: { readonly entry: Entry; readonly cause: string }[];
  readonly log: string[];
  readonly runRecords: AsyncLocalStorage<RunRecord>;
};

let histories = 0;
/** Shared, as every instance that was ever used slows down every promise. */
const runRecords = new AsyncLocalStorage<RunRecord>();

const PROJECTS = 3;

export async function begin(system: SystemUnderTest): Promise<History> {
  histories += 1;
  const projects = await system.begin(PROJECTS);
  const zone = `shop${histories}.com`;
  const places = [
    { hostname: zone, apex: true },
    { hostname: `docs.${zone}`, apex: false },
    { hostname: `www.${zone}`, apex: false },
  ];
  const history: History = {
    system,
    places,
    projects,
    model: createModel(PROJECTS, places),
    shown: new Map(places.map(({ hostname }) => [hostname, nothingShown])),
    authority: { kind: 'issues', lifeMs: 90 * DAY },
    targets: new Map(),
    lostAt: null,
    calmAt: 0,
    sweepTimes: null,
    hasRun: true,
    woken: null,
    atOrder: null,
    killAtOrder: null,
    killAfter: null,
    maybe: [],
    log: [],
    runRecords,
  };
  for (const entry of history.model.entries) {
    history.targets.set(targetOf(history, entry), entry);
  }
  await ensureSweeps(system.service, system.times);
  system.setOutside({
    onAnswer: (what, args, answer) => noteAnswer(history, what, args, answer),
    observe: (asked) => observe(history, asked.target),
    lookupTexts: async (name) => [lookupTexts(history, name)],
    advance: (order, steps) => advance(history, order, steps),
  });
  return history;
}

export function targetOf({ system, projects }: History, { project, hostname }: Entry): string {
  return system.service.targetFor(projects[project] ?? '', hostname);
}

function entryOf({ targets }: History, target: string): Entry {
  const entry = targets.get(target);
  if (entry === undefined) throw new Error(`unknown target ${target}`);
  return entry;
}

export function shownAt({ shown }: History, hostname: string): Shown {
  return shown.get(hostname) ?? nothingShown;
}

async function observe(history: History, target: string) {
  const { system, model, runRecords } = history;
  const entry = entryOf(history, target);
  const seen = shownAt(history, entry.hostname);
  const runRecord = runRecords.getStore();
  runRecord?.checks.push({ entry, seen, counted: false, rivals: null });
  if (runRecord !== undefined && !runRecord.fences.has(entry)) {
    runRecord.fences.set(entry, model.fence(entry));
  }
  const meanwhile = runRecord?.meanwhile ?? null;
  if (runRecord !== undefined) runRecord.meanwhile = null;
  if (meanwhile !== null) await meanwhile();
  const { record } = seen;
  const points =
    typeof record === 'number' ? targetOf(history, { ...entry, project: record }) : null;
  return observed(entry, seen, points, new Date(system.now()));
}

/** The proofs at a name at lookup time, which may be later than the check. */
function lookupTexts(history: History, name: string): DnsAnswer<string> {
  const { system, model, runRecords } = history;
  const hostname = name.replace(/^_signpost\./, '');
  const { proofs } = shownAt(history, hostname);
  const check = runRecords.getStore()?.checks.findLast(({ entry }) => entry.hostname === hostname);
  if (check !== undefined) check.seen = { ...check.seen, proofs };
  return records(
    proofs.map((of) => system.service.proofFor(model.find(of, hostname).id, hostname)),
  );
}

/** A CA with two steps per order, as real ones have, and a scripted result. */
async function advance(
  history: History,
  order: { readonly hostname: string; readonly orderUrl: string | null },
  steps: {
    orderPlaced(url: string): Promise<void>;
    publishChallenge(challenge: { token: string; keyAuthorization: string }): Promise<void>;
  },
) {
  const { authority, system, runRecords } = history;
  const runRecord = runRecords.getStore();
  const entry = [...(runRecord?.fences.keys() ?? [])].find(
    ({ hostname }) => hostname === order.hostname,
  );
  if (entry === undefined) throw new Error(`an order for ${order.hostname} out of nowhere`);
  killNow(history);
  await disturb(history, runRecord);
  if (authority.kind === 'is_silent') throw certificateFault('ca_unreachable', 'no answer');
  const name = `${entry.project}-${entry.hostname}-${entry.ordersOpened}`;
  await steps.orderPlaced(order.orderUrl ?? `https://ca.test/order/${name}`);
  await steps.publishChallenge({ token: name, keyAuthorization: `${name}.key` });
  const at = system.now();
  if (authority.kind === 'refuses') {
    const { type, waitMs } = authority;
    const retryAfter = waitMs === null ? null : new Date(at + waitMs);
    return { kind: 'refused', problem: { type, detail: 'no', retryAfter } } as const;
  }
  return {
    kind: 'issued',
    chain: 'PEM',
    issuer: 'Model CA',
    notBefore: new Date(at - HOUR),
    notAfter: new Date(at + authority.lifeMs),
  } as const;
}

function killNow(history: History): void {
  const run = runOf();
  if (run === undefined || history.killAtOrder === null) return;
  run.diesAfter = run.calls + history.killAtOrder;
  history.killAtOrder = null;
}

async function disturb(history: History, runRecord: RunRecord | undefined): Promise<void> {
  const { atOrder } = history;
  history.atOrder = null;
  if (atOrder === null || runRecord === undefined) return;
  runRecord.disturbed = true;
  await atOrder();
}

/** A loss is repaired within a minute: 20 s of grace, a reconciler interval of 20 s, and a run. */
export const REPAIRED_WITHIN_MS = MINUTE;
