import { type Entry, type Fence, HOUR } from './entry.ts';

/** For the first certificate, or for the next one of a live domain. */
export function openedOrder(
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
export function putOff(entries: readonly Entry[], entry: Entry, at: number): void {
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
