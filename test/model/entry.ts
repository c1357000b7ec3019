export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type Status = 'pending' | 'verified' | 'live' | 'drifted' | 'failed';

/** One hostname of one project. Times in milliseconds. */
export type Entry = {
  readonly project: number;
  readonly hostname: string;
  readonly apex: boolean;
  /** Of the newest addition. */
  id: string;
  attached: boolean;
  /** Counts from 1, over all additions. */
  life: number;
  /** Of this addition: what the service calls its epoch. */
  epoch: number;
  checks: number;
  status: Status;
  since: number;
  missedAt: number | null;
  /** Start of the verification, or of the one before it was served. */
  verifiedAt: number;
  endsAt: number | null;
  /** `from`: CAs date it back, some by an hour; `storedAt`: when it was stored. */
  certificates: { readonly from: number; readonly until: number; readonly storedAt: number }[];
  order: number | null;
  setBack: boolean;
  ordersOpened: number;
  refusals: { readonly at: number; readonly retryAfter: number | null; readonly type: string }[];
  escalation: string | null;
  /** Another cause found by the last check; the escalation changes if the next check agrees. */
  doubt: string | null;
  /** A check since it was added showed no record. */
  wasMissing: boolean;
  /** When it last got the name, counted over all entries; 0: never. */
  heldAt: number;
  /** The newest addition is the one that got it, and has not failed since. */
  isSameClaim: boolean;
};

/** What a run had read before it acted: a result of an old epoch or check is stale. */
export type Fence = { readonly life: number; readonly checks: number; readonly status: Status };

export type Certificate = Entry['certificates'][number];

/** The states in which visitors reach the project. */
const holding: readonly Status[] = ['verified', 'live', 'drifted'];

export function newEntry(project: number, place: { hostname: string; apex: boolean }): Entry {
  return {
    ...place,
    project,
    id: '',
    attached: false,
    life: 0,
    epoch: 0,
    checks: 0,
    status: 'pending',
    since: 0,
    missedAt: null,
    verifiedAt: 0,
    endsAt: null,
    certificates: [],
    order: null,
    setBack: false,
    ordersOpened: 0,
    refusals: [],
    escalation: null,
    doubt: null,
    wasMissing: false,
    heldAt: 0,
    isSameClaim: false,
  };
}

export function holds({ attached, status }: Entry): boolean {
  return attached && holding.includes(status);
}

/** The previous certificate, reused by a verified domain with over a third of its life left. */
export function usable({ certificates }: Entry, at: number): Certificate | null {
  const [newest] = certificates
    .filter(({ until }) => until > at)
    .sort((one, other) => other.until - one.until);
  if (newest === undefined) return null;
  return (newest.until - at) / (newest.until - newest.from) > 1 / 3 ? newest : null;
}

/** A fifth of its life is left, with no later certificate: an operator is needed. */
export function isLate({ certificates }: Entry, at: number): boolean {
  // A CA can have changed to shorter lives, so the newest may expire first.
  const newest = certificates.toSorted((one, other) => one.storedAt - other.storedAt).at(-1);
  return newest !== undefined && at >= newest.until - (newest.until - newest.from) / 5;
}
