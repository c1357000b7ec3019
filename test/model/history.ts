/** One history: the service and the model beside each other, with the world around them that commands change. */
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

/** `heldBy`: who was in the way when the check was first saved; another may have lost the name meanwhile. */
type ModelCheck = { readonly entry: Entry; seen: Shown; counted: boolean; heldBy: Entry | null };

/** What a run of a job did, as the world around it saw. */
export type RunRecord = {
  readonly of: string;
  /** Of each domain that it has read, what it was then. */
  readonly fences: Map<Entry, Fence>;
  readonly checks: ModelCheck[];
  /** Whose orders it knows, by the certificate's id: a sweep has several in hand at once. */
  readonly orders: Map<string, Entry>;
  /** Something else happened while it was at work. */
  disturbed: boolean;
  /** What happens while it looks at the DNS. */
  meanwhile: (() => Promise<void>) | null;
};

/**
 * When each sweep next has something to do, by the rows; Infinity: never. The model's authority has no opinion on renewals, so
 * that asking it is left out.
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
  /** The queue may lack jobs since then; null: nothing was lost that the reconciler has not put back. */
  lostAt: number | null;
  /** What was overdue when the reconciler had its turn is worked on by then. */
  calmAt: number;
  /** Null: to be read from the rows. */
  sweepTimes: SweepTimes | null;
  /** Something that may write has run since the comparison last read. */
  hasRun: boolean;
  /** A customer asked for a check, and the queue was told. */
  woken: Entry | null;
  /** What happens while the next order is at the authority. */
  atOrder: (() => Promise<void>) | null;
  /** The run that has the next order is killed so many answers later. */
  killAtOrder: number | null;
  /** The next run is killed after so many answers. */
  killAfter: number | null;
  /** A run that was killed may have opened these cases. */
  maybe: { readonly entry: Entry; readonly cause: string }[];
  /** What has happened, for the report of a failure. */
  readonly log: string[];
  readonly runRecords: AsyncLocalStorage<RunRecord>;
};

let histories = 0;
/** One for all: each that was ever used costs every promise a little. */
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
  await ensureSweeps(system.workers.reconcile);
  system.setOutside({
    onAnswer: (what, args, answer) => noteAnswer(history, what, args, answer),
    observe: (asked) => observe(history, asked.target),
    lookupTexts: async (name) => [lookupTexts(history, name)],
    advance: (order, steps) => advance(history, order, steps),
  });
  return history;
}

export function targetOf({ system, projects }: History, { project, hostname }: Entry): string {
  return system.parts.targetFor(projects[project] ?? '', hostname);
}

function entryOf({ targets }: History, target: string): Entry {
  const entry = targets.get(target);
  if (entry === undefined) throw new Error(`nobody is to point to ${target}`);
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
  runRecord?.checks.push({ entry, seen, counted: false, heldBy: null });
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

/** The proofs at a name, as they stand when they are looked up: the check before may have been earlier. */
function lookupTexts(history: History, name: string): DnsAnswer<string> {
  const { system, projects, runRecords } = history;
  const hostname = name.replace(/^_signpost\./, '');
  const { proofs } = shownAt(history, hostname);
  const check = runRecords.getStore()?.checks.findLast(({ entry }) => entry.hostname === hostname);
  if (check !== undefined) check.seen = { ...check.seen, proofs };
  return records(proofs.map((of) => system.parts.proofFor(projects[of] ?? '', hostname)));
}

/** An authority that takes an order in two steps, as the real ones do, and then says what it was told to say. */
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

/** The run that asks dies a few answers from here. */
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

/** Up to a minute may pass until what was lost is back: 20 s of grace, a turn of 20 s, and a run. */
export const REPAIRED_WITHIN_MS = MINUTE;
