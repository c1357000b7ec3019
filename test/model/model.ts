/**
 * The life of a domain as in docs/understand/life-of-a-domain.md, independent of src/core. Its
 * inputs are customer actions, check results and CA results; it says what must be true afterwards.
 */
import {
  type Certificate,
  type Entry,
  type Fence,
  HOUR,
  holds,
  MINUTE,
  newEntry,
  type Status,
  usable,
} from './entry.ts';
import type { Shown } from './shown.ts';
import { verdictOf } from './verdict.ts';

const WINDOW = 48 * HOUR;
const DRIFT_CONFIRM = 10 * MINUTE;

type ModelEvent = {
  readonly project: number;
  readonly type: string;
  readonly hostname: string;
};

export type Model = ReturnType<typeof createModel>;

export function createModel(
  projects: number,
  places: readonly { readonly hostname: string; readonly apex: boolean }[],
) {
  const entries = Array.from({ length: projects }, (_, project) =>
    places.map((place) => newEntry(project, place)),
  ).flat();
  const events: ModelEvent[] = [];

  const find = (project: number, hostname: string): Entry => {
    const entry = entries.find((one) => one.project === project && one.hostname === hostname);
    if (entry === undefined) throw new Error(`no such entry: ${project} ${hostname}`);
    return entry;
  };
  const record = ({ project, hostname }: Entry, type: string) =>
    void events.push({ project, hostname, type });
  const rules = { entries, events, record };

  return {
    entries,
    events,
    find,
    fence: ({ life, checks, status }: Entry): Fence => ({ life, checks, status }),
    holder: (hostname: string) =>
      entries.find((one) => one.hostname === hostname && holds(one)) ?? null,
    rivals: (entry: Entry) => rivals(entries, entry),
    add: (entry: Entry, at: number) => add(rules, entry, at),
    remove: (entry: Entry) => remove(rules, entry),
    verify: (entry: Entry, at: number) => verify(rules, entry, at),
    checked: (entry: Entry, { seen, rivals }: Checked, at: number, fence: Fence) =>
      checked(rules, entry, { seen, rivals, at, fence }),
    openedOrder: (entry: Entry, at: number, fence: Fence) =>
      openedOrder(entries, entry, { at, fence }),
    putOff: (entry: Entry, at: number) => putOff(entries, entry, at),
    issued: (entry: Entry, certificate: Certificate, fence: Fence, at: number) =>
      issued(rules, entry, certificate, fence, at),
    reused: (entry: Entry, fence: Fence, at: number) => reused(rules, entry, fence, at),
    refused: (entry: Entry, refusal: { type: string; retryAfter: number | null }, at: number) =>
      refused(rules, entry, refusal, at),
    escalated: (entry: Entry, cause: string) => escalated(rules, entry, cause),
  };
}

type Rules = {
  readonly entries: readonly Entry[];
  readonly events: readonly ModelEvent[];
  readonly record: (entry: Entry, type: string) => void;
};

function add({ record }: Rules, entry: Entry, at: number): boolean {
  if (entry.attached) return false;
  entry.attached = true;
  entry.epoch = 0;
  entry.wasMissing = false;
  entry.isSameClaim = false;
  newLife(entry, at);
  record(entry, 'domain.added');
  return true;
}

function remove({ record }: Rules, entry: Entry): void {
  if (!entry.attached) return;
  entry.attached = false;
  entry.life += 1;
  endOrder(entry);
  record(entry, 'domain.removed');
  closeCase({ record }, entry);
}

function verify({ events, record }: Rules, entry: Entry, at: number): boolean {
  if (!entry.attached) return false;
  if (entry.status === 'pending' || entry.status === 'failed') newLife(entry, at);
  // It keeps its name or its traffic; a running check is stale.
  else entry.checks += 1;
  if (entry.status === 'live' || entry.status === 'drifted') return true;
  const { project, hostname } = entry;
  const last = events.findLast(
    (one) => one.project === project && one.hostname === hostname && one.type.startsWith('domain.'),
  );
  // A repetition is counted in the same event.
  if (last?.type !== 'domain.reverify_requested') record(entry, 'domain.reverify_requested');
  return true;
}

function endOrder(entry: Entry): void {
  entry.order = null;
  entry.setBack = false;
}

function newLife(entry: Entry, at: number): void {
  entry.life += 1;
  entry.epoch += 1;
  entry.checks = 0;
  entry.status = 'pending';
  entry.since = at;
  entry.missedAt = null;
}

function closeCase({ record }: Pick<Rules, 'record'>, entry: Entry): void {
  if (entry.escalation === null) return;
  entry.escalation = null;
  entry.doubt = null;
  record(entry, 'escalation.closed');
}

/** `rivals`: the holder and pending claims when the check decided; null: the records proved the name. */
type Checked = { readonly seen: Shown; readonly rivals: readonly Entry[] | null };
type Saw = Checked & { readonly at: number; readonly fence: Fence };

function checked(rules: Rules, entry: Entry, saw: Saw): boolean {
  const { at, fence } = saw;
  if (!entry.attached || fence.life !== entry.life || fence.checks !== entry.checks) return false;
  entry.checks += 1;
  step(rules, entry, saw);
  if (saw.seen.record === 'missing') entry.wasMissing = true;
  if (entry.endsAt !== null && entry.endsAt <= at) certificateEnded(rules, entry, at);
  return true;
}

function step(rules: Rules, entry: Entry, saw: Saw): void {
  const { seen, at } = saw;
  const verdict = verdictOf(entry, seen);
  const { status } = entry;
  if (status === 'pending' || status === 'failed') onItsWay(rules, entry, verdict, saw);
  else if (status === 'live') checkedLive(rules, entry, verdict, at);
  else if (status === 'verified' && verdict === 'wrong') unverified(rules, entry, at);
  else if (status === 'drifted' && verdict === 'right') {
    Object.assign(entry, { status: 'live', since: at, missedAt: null });
    rules.record(entry, 'domain.recovered');
  }
}

function onItsWay(rules: Rules, entry: Entry, verdict: string, saw: Saw): void {
  const { at } = saw;
  if (verdict === 'right' && takeName(rules, entry, saw)) verified(rules, entry, at);
  else if (entry.status === 'pending' && at >= entry.since + WINDOW) failed(rules, entry, at);
}

function checkedLive({ record }: Rules, entry: Entry, verdict: string, at: number): void {
  if (verdict === 'unknown') return;
  if (verdict === 'right') entry.missedAt = null;
  else if (entry.missedAt === null) entry.missedAt = at;
  else if (at - entry.missedAt >= DRIFT_CONFIRM) {
    Object.assign(entry, { status: 'drifted', since: at });
    record(entry, 'domain.drifted');
  }
}

function certificateEnded(rules: Rules, entry: Entry, at: number): void {
  if (entry.status === 'live') {
    Object.assign(entry, { status: 'verified', since: at, verifiedAt: at, missedAt: null });
    rules.record(entry, 'certificate.ended');
  } else if (entry.status === 'drifted') failed(rules, entry, at);
}

function verified({ entries, record }: Rules, entry: Entry, at: number): void {
  Object.assign(entry, { status: 'verified', since: at, verifiedAt: at });
  entry.heldAt = Math.max(...entries.map(({ heldAt }) => heldAt)) + 1;
  entry.isSameClaim = true;
  record(entry, 'domain.verified');
}

function unverified({ record }: Rules, entry: Entry, at: number): void {
  const { checks } = entry;
  newLife(entry, at);
  entry.checks = checks;
  record(entry, 'domain.unverified');
}

function failed({ record }: Rules, entry: Entry, at: number): void {
  Object.assign(entry, { status: 'failed', since: at, isSameClaim: false });
  record(entry, 'domain.failed');
  closeCase({ record }, entry);
}

/** The rivals of a claim: the holder, and all others with a pending claim on an apex. */
function rivals(entries: readonly Entry[], { project, hostname, apex }: Entry): readonly Entry[] {
  const others = entries.filter((one) => one.project !== project && one.hostname === hostname);
  const isPending = ({ attached, status }: Entry) => attached && status === 'pending';
  return others.filter((one) => holds(one) || (apex && isPending(one)));
}

/**
 * The DNS decides who gets the name. Addresses at an apex decide nothing if another project has the
 * name or had it last, or if they were there before the claim; a TXT record does.
 */
function takeName(rules: Rules, entry: Entry, { seen, rivals: known, at }: Saw): boolean {
  if (entry.apex && !(known === null ? isAnswered(rules, entry) : isProven(entry, known, seen))) {
    return false;
  }
  const holder = rules.entries.find(
    (one) => one !== entry && one.hostname === entry.hostname && holds(one),
  );
  if (holder === undefined) return true;
  newLife(holder, at);
  endOrder(holder);
  rules.record(holder, 'domain.claimed_elsewhere');
  closeCase(rules, holder);
  return true;
}

function isProven(entry: Entry, others: readonly Entry[], { proofs }: Shown): boolean {
  return proofs.includes(entry.project) && !others.some(({ project }) => proofs.includes(project));
}

/** The claim had the name last and did not fail, or the addresses came after the claim. */
function isAnswered({ entries }: Rules, entry: Entry): boolean {
  const others = rivals(entries, entry);
  const last = entries
    .filter(({ hostname, heldAt }) => hostname === entry.hostname && heldAt > 0)
    .toSorted((one, other) => one.heldAt - other.heldAt)
    .at(-1);
  if (last === entry && entry.isSameClaim && !others.some(holds)) return true;
  return others.length === 0 && (last === undefined || last === entry) && entry.wasMissing;
}

function issued(
  rules: Rules,
  entry: Entry,
  certificate: Certificate,
  fence: Fence,
  at: number,
): void {
  if (entry.order === null) return;
  endOrder(entry);
  entry.certificates.push(certificate);
  const served = (status: Status) => status === 'live' || status === 'drifted';
  const renews = entry.attached && fence.life === entry.life && served(entry.status);
  if (renews && served(fence.status)) {
    entry.endsAt = certificate.until;
    entry.checks += 1;
    rules.record(entry, 'certificate.renewed');
    closeCase(rules, entry);
    return;
  }
  rules.record(entry, 'certificate.issued');
  goLive(rules, entry, { fence, at, endsAt: certificate.until });
}

function reused(rules: Rules, entry: Entry, fence: Fence, at: number): void {
  const endsAt = usable(entry, at)?.until ?? null;
  goLive(rules, entry, { fence, at, endsAt });
}

function goLive(
  { record }: Rules,
  entry: Entry,
  { fence, at, endsAt }: { fence: Fence; at: number; endsAt: number | null },
): void {
  const waits = fence.status === 'verified' && entry.status === 'verified';
  if (!entry.attached || fence.life !== entry.life || !waits) return;
  Object.assign(entry, { status: 'live', since: at, missedAt: null, endsAt });
  record(entry, 'domain.live');
  closeCase({ record }, entry);
}

function refused(
  { record }: Rules,
  entry: Entry,
  { type, retryAfter }: { type: string; retryAfter: number | null },
  at: number,
): void {
  if (entry.order === null) return;
  entry.refusals.push({ at, retryAfter, type });
  endOrder(entry);
  record(entry, 'certificate.failed');
}

/** They unverify a pending domain without a second check; a served domain stays. */
const countsAtOnce = ['dns_changed', 'caa_blocks'];

/** One escalation per cause. Another cause closes it and opens the next, after two checks agree. */
function escalated({ record }: Rules, entry: Entry, cause: string): void {
  const { escalation, doubt } = entry;
  entry.doubt = null;
  if (escalation === cause) return;
  const served = entry.status === 'live' || entry.status === 'drifted';
  if (escalation !== null && doubt !== cause && (served || !countsAtOnce.includes(cause))) {
    entry.doubt = cause;
    return;
  }
  closeCase({ record }, entry);
  entry.escalation = cause;
  record(entry, 'escalation.opened');
}

/** For the first certificate, or for the next one of a live domain. */
function openedOrder(
  entries: readonly Entry[],
  entry: Entry,
  { at, fence: { life, status } }: { readonly at: number; readonly fence: Fence },
): void {
  if (!entry.attached || life !== entry.life || status !== entry.status) return;
  if (entry.order !== null || (status !== 'verified' && status !== 'live')) return;
  if (!mayOrder(entries, entry, at)) throw new Error(`an order for ${entry.hostname} too early`);
  entry.order = at;
  entry.ordersOpened += 1;
}

/** Another run may have taken the last token since this one read the domain. */
function putOff(entries: readonly Entry[], entry: Entry, at: number): void {
  if (mayOrder(entries, entry, at)) throw new Error(`${entry.hostname} waits for no limit`);
}

const FAILED = 5;
const RETURN_MS = HOUR / FAILED;

/** The CA's limit of failed authorizations: 5 in an hour of a name, in any project; every 12 minutes returns one. */
function mayOrder(entries: readonly Entry[], { hostname }: Entry, at: number): boolean {
  const times = entries
    .filter((one) => one.hostname === hostname)
    .flatMap(({ refusals }) => refusals.map((refusal) => refusal.at))
    .toSorted((one, other) => one - other);
  let [untilFullMs, since] = [0, 0];
  for (const time of times) {
    untilFullMs = Math.max(0, untilFullMs - (time - since)) + RETURN_MS;
    since = time;
  }
  return untilFullMs - (at - since) <= (FAILED - 1) * RETURN_MS;
}
