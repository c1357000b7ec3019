/** One host name of one project, as the model keeps it. */

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type Status = 'pending' | 'verified' | 'live' | 'drifted' | 'failed';

/** One host name of one project. Times in milliseconds. */
export type Entry = {
  readonly project: number;
  readonly hostname: string;
  readonly apex: boolean;
  attached: boolean;
  /** Counts its lives, from 1: the service's epoch. */
  life: number;
  /** Counts what was saved of it in this life. */
  checks: number;
  status: Status;
  /** Since when it is in this state. */
  since: number;
  missedAt: number | null;
  /** Since when it is verified, or was before it was served. */
  verifiedAt: number;
  /** Of the newest certificate. */
  endsAt: number | null;
  /** `from`: authorities date it back, by an hour for one; `storedAt`: when it came. */
  certificates: { readonly from: number; readonly until: number; readonly storedAt: number }[];
  /** When the open order was opened. */
  order: number | null;
  /** The authority did not answer about the open order. */
  setBack: boolean;
  ordersOpened: number;
  refusals: { readonly at: number; readonly retryAfter: number | null; readonly type: string }[];
  escalation: string | null;
  /** Another cause that the last check found; the next check that finds it makes it the case's. */
  doubt: string | null;
};

/** What a run had read before it acted: news of an earlier life, or older than another's, is none. */
export type Fence = { readonly life: number; readonly checks: number; readonly status: Status };

export type Certificate = Entry['certificates'][number];

/** `holders` of a name: its states in which visitors are led to the project. */
const holding: readonly Status[] = ['verified', 'live', 'drifted'];

export function newEntry(project: number, place: { hostname: string; apex: boolean }): Entry {
  return {
    ...place,
    project,
    attached: false,
    life: 0,
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
  };
}

/** Whether visitors of the name are led to the project. */
export function holds({ attached, status }: Entry): boolean {
  return attached && holding.includes(status);
}

/** The certificate of before that a verified domain is served with again: more than a third of its life is left. */
export function usable({ certificates }: Entry, at: number): Certificate | null {
  const [newest] = certificates
    .filter(({ until }) => until > at)
    .sort((one, other) => other.until - one.until);
  if (newest === undefined) return null;
  return (newest.until - at) / (newest.until - newest.from) > 1 / 3 ? newest : null;
}

/** A fifth of its life is left: whoever is served by it, and by no later one, needs an operator's help. */
export function isLate({ certificates }: Entry, at: number): boolean {
  const [newest] = [...certificates].sort((one, other) => other.until - one.until);
  return newest !== undefined && at >= newest.until - (newest.until - newest.from) / 5;
}
