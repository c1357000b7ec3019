/**
 * The life of a domain as docs/lifecycle.md tells it, small and by itself: it shares nothing with src/core. It is told what
 * customers did, what a look saw and what the authority said, and says what must be true afterwards.
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

export type Told = { readonly project: number; readonly type: string; readonly hostname: string };

export type Model = ReturnType<typeof createModel>;

export function createModel(
  projects: number,
  places: readonly { readonly hostname: string; readonly apex: boolean }[],
) {
  const entries = Array.from({ length: projects }, (_, project) =>
    places.map((place) => newEntry(project, place)),
  ).flat();
  const told: Told[] = [];

  const find = (project: number, hostname: string): Entry => {
    const entry = entries.find((one) => one.project === project && one.hostname === hostname);
    if (entry === undefined) throw new Error(`no such entry: ${project} ${hostname}`);
    return entry;
  };
  const tell = ({ project, hostname }: Entry, type: string) =>
    void told.push({ project, hostname, type });
  const rules = { entries, tell };

  return {
    entries,
    told,
    find,
    fence: ({ life, looks, status }: Entry): Fence => ({ life, looks, status }),
    holder: (hostname: string) =>
      entries.find((one) => one.hostname === hostname && holds(one)) ?? null,
    rivals: (entry: Entry) => rivals(entries, entry),
    add: (entry: Entry, at: number) => add(rules, entry, at),
    remove: (entry: Entry) => remove(rules, entry),
    verify: (entry: Entry, at: number) => verify(rules, entry, at),
    looked: (entry: Entry, { seen, heldBy }: Looked, at: number, fence: Fence) =>
      looked(rules, entry, { seen, heldBy, at, fence }),
    openedOrder: (entry: Entry, at: number, fence: Fence) => openedOrder(entry, at, fence),
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
  readonly tell: (entry: Entry, type: string) => void;
};

function add({ tell }: Rules, entry: Entry, at: number): boolean {
  if (entry.attached) return false;
  entry.attached = true;
  newLife(entry, at);
  tell(entry, 'domain.added');
  return true;
}

function remove({ tell }: Rules, entry: Entry): void {
  if (!entry.attached) return;
  entry.attached = false;
  entry.life += 1;
  endOrder(entry);
  tell(entry, 'domain.removed');
  closeCase({ tell }, entry);
}

function verify({ tell }: Rules, entry: Entry, at: number): boolean {
  if (!entry.attached) return false;
  if (entry.status === 'pending' || entry.status === 'failed') newLife(entry, at);
  // It keeps its name, or its traffic; a look that is under way is out of date.
  else entry.looks += 1;
  if (entry.status === 'live' || entry.status === 'drifted') return true;
  tell(entry, 'domain.reverify_requested');
  return true;
}

function endOrder(entry: Entry): void {
  entry.order = null;
  entry.setBack = false;
}

function newLife(entry: Entry, at: number): void {
  entry.life += 1;
  entry.looks = 0;
  entry.status = 'pending';
  entry.since = at;
  entry.missedAt = null;
}

function closeCase({ tell }: Pick<Rules, 'tell'>, entry: Entry): void {
  if (entry.escalation === null) return;
  entry.escalation = null;
  entry.doubt = null;
  tell(entry, 'escalation.closed');
}

/** `heldBy`: who held the name, or had it pending, too, when it was asked whose it is. */
type Looked = { readonly seen: Shown; readonly heldBy: Entry | null };
type Saw = Looked & { readonly at: number; readonly fence: Fence };

/** Answers whether the look counted. */
function looked(rules: Rules, entry: Entry, saw: Saw): boolean {
  const { at, fence } = saw;
  if (!entry.attached || fence.life !== entry.life || fence.looks !== entry.looks) return false;
  entry.looks += 1;
  step(rules, entry, saw);
  if (entry.endsAt !== null && entry.endsAt <= at) certificateEnded(rules, entry, at);
  return true;
}

function step(rules: Rules, entry: Entry, saw: Saw): void {
  const { seen, at } = saw;
  const verdict = verdictOf(entry, seen);
  const { status } = entry;
  if (status === 'pending' || status === 'failed') onItsWay(rules, entry, verdict, saw);
  else if (status === 'live') lookedAtLive(rules, entry, verdict, at);
  else if (status === 'verified' && verdict === 'wrong') unverified(rules, entry, at);
  else if (status === 'drifted' && verdict === 'right') {
    Object.assign(entry, { status: 'live', since: at, missedAt: null });
    rules.tell(entry, 'domain.recovered');
  }
}

function onItsWay(rules: Rules, entry: Entry, verdict: string, saw: Saw): void {
  const { at } = saw;
  if (verdict === 'right' && takeName(rules, entry, saw)) verified(rules, entry, at);
  else if (entry.status === 'pending' && at >= entry.since + WINDOW) failed(rules, entry, at);
}

function lookedAtLive({ tell }: Rules, entry: Entry, verdict: string, at: number): void {
  if (verdict === 'unknown') return;
  if (verdict === 'right') entry.missedAt = null;
  else if (entry.missedAt === null) entry.missedAt = at;
  else if (at - entry.missedAt >= DRIFT_CONFIRM) {
    Object.assign(entry, { status: 'drifted', since: at });
    tell(entry, 'domain.drifted');
  }
}

function certificateEnded(rules: Rules, entry: Entry, at: number): void {
  if (entry.status === 'live') {
    Object.assign(entry, { status: 'verified', since: at, verifiedAt: at, missedAt: null });
    rules.tell(entry, 'certificate.ended');
  } else if (entry.status === 'drifted') failed(rules, entry, at);
}

function verified({ tell }: Rules, entry: Entry, at: number): void {
  Object.assign(entry, { status: 'verified', since: at, verifiedAt: at });
  tell(entry, 'domain.verified');
}

function unverified({ tell }: Rules, entry: Entry, at: number): void {
  const { looks } = entry;
  newLife(entry, at);
  entry.looks = looks;
  tell(entry, 'domain.unverified');
}

function failed({ tell }: Rules, entry: Entry, at: number): void {
  Object.assign(entry, { status: 'failed', since: at });
  tell(entry, 'domain.failed');
  closeCase({ tell }, entry);
}

/** Who is in the way of a claim: the holder; of an apex that nobody holds, everybody else who has it pending. */
function rivals(entries: readonly Entry[], { project, hostname, apex }: Entry): readonly Entry[] {
  const others = entries.filter((one) => one.project !== project && one.hostname === hostname);
  const holders = others.filter(holds);
  if (holders.length > 0 || !apex) return holders;
  return others.filter(({ attached, status }) => attached && status === 'pending');
}

/**
 * Whoever holds the name loses it to whom the DNS names. Addresses at an apex name nobody; its TXT record does, also
 * among those who have it pending.
 */
function takeName(rules: Rules, entry: Entry, { seen, heldBy, at }: Saw): boolean {
  if (heldBy !== null && entry.apex && !isProven(entry, heldBy, seen)) return false;
  const holder = rules.entries.find(
    (one) => one !== entry && one.hostname === entry.hostname && holds(one),
  );
  if (holder === undefined) return heldBy !== null || rivals(rules.entries, entry).length === 0;
  if (entry.apex && !isProven(entry, holder, seen)) return false;
  newLife(holder, at);
  endOrder(holder);
  rules.tell(holder, 'domain.claimed_elsewhere');
  closeCase(rules, holder);
  return true;
}

function isProven(entry: Entry, holder: Entry, { proofs }: Shown): boolean {
  return proofs.includes(entry.project) && !proofs.includes(holder.project);
}

/** For the first certificate, or for the next one of a domain that is live. */
function openedOrder(entry: Entry, at: number, { life, status }: Fence): void {
  if (!entry.attached || life !== entry.life || status !== entry.status) return;
  if (entry.order !== null || (status !== 'verified' && status !== 'live')) return;
  entry.order = at;
  entry.ordersOpened += 1;
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
    entry.looks += 1;
    rules.tell(entry, 'certificate.renewed');
    closeCase(rules, entry);
    return;
  }
  rules.tell(entry, 'certificate.issued');
  goLive(rules, entry, { fence, at, endsAt: certificate.until });
}

function reused(rules: Rules, entry: Entry, fence: Fence, at: number): void {
  const endsAt = usable(entry, at)?.until ?? null;
  goLive(rules, entry, { fence, at, endsAt });
}

function goLive(
  { tell }: Rules,
  entry: Entry,
  { fence, at, endsAt }: { fence: Fence; at: number; endsAt: number | null },
): void {
  const waits = fence.status === 'verified' && entry.status === 'verified';
  if (!entry.attached || fence.life !== entry.life || !waits) return;
  Object.assign(entry, { status: 'live', since: at, missedAt: null, endsAt });
  tell(entry, 'domain.live');
  closeCase({ tell }, entry);
}

function refused(
  { tell }: Rules,
  entry: Entry,
  { type, retryAfter }: { type: string; retryAfter: number | null },
  at: number,
): void {
  if (entry.order === null) return;
  entry.refusals.push({ at, retryAfter, type });
  endOrder(entry);
  tell(entry, 'certificate.failed');
}

/** They take the way back to pending with them, so that there is no second look; a served domain goes nowhere. */
const countsAtOnce = ['dns_changed', 'caa_blocks'];

/** One case for a cause. Another cause closes it and opens the next, once two looks in a row agree on it. */
function escalated({ tell }: Rules, entry: Entry, cause: string): void {
  const { escalation, doubt } = entry;
  entry.doubt = null;
  if (escalation === cause) return;
  const served = entry.status === 'live' || entry.status === 'drifted';
  if (escalation !== null && doubt !== cause && (served || !countsAtOnce.includes(cause))) {
    entry.doubt = cause;
    return;
  }
  closeCase({ tell }, entry);
  entry.escalation = cause;
  tell(entry, 'escalation.opened');
}
