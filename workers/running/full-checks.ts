/**
 * Full checks take places by account. The queue gives turns (src/core/operations/job-priority.ts), but what it has given
 * shares this process's one thread: with five hundred full checks under way each takes as long as all of them, whoever it is
 * for. So no more are begun than keep the process busy, and where a place is free, the account with the fewest has it.
 */

/** What is measured of the process. */
export type FullCheckDeps = {
  /** The share of the time since the call before in which the process had something to do, 0 to 1. */
  utilization(): number;
};

/** Runs a full check of an account once there is a place for it. Rejects as `check` does. */
export type InPlace = <T>(account: string, check: () => Promise<T>) => Promise<T>;

/** What one account has under way, and what waits in its order. */
type Line = { underWay: number; readonly waiting: (() => void)[] };

/** A full check costs 1 to 2 ms of processor time, so this many are over within 10 ms. Our choice. */
const PLACES_MIN = 4;
/** As often as places are counted anew while some check waits. Our choice. */
const MEASURE_MS = 50;
/** Busier than this, and a check that comes now waits for those before it; between the two, places stay. Our choice. */
const busy = { tooMuch: 0.7, little: 0.5 } as const;
/** A check that takes longer waits for the network, and gives its place to one that needs the processor. Our choice. */
const HELD_MS_MAX = 100;

/**
 * Places grow by a quarter twenty times a second while some check waits and the process has time left, and shrink as quickly
 * where it has none: of name servers that are far away it has hundreds of checks under way, of those that answer at once a
 * few. At least forty a second begin, however busy it is.
 */
export function createFullChecks({ utilization }: FullCheckDeps): InPlace {
  const lines = new Map<string, Line>();
  let [places, taken, waiting] = [PLACES_MIN, 0, 0];
  let timer: NodeJS.Timeout | undefined;

  function take(line: Line): void {
    taken += 1;
    line.underWay += 1;
  }

  function giveBack(account: string, line: Line): void {
    taken -= 1;
    line.underWay -= 1;
    if (line.underWay === 0 && line.waiting.length === 0) lines.delete(account);
    beginMore();
  }

  function beginMore(): void {
    while (taken < places && waiting > 0) {
      const line = leastOf(lines.values());
      const begin = line?.waiting.shift();
      if (line === undefined || begin === undefined) return;
      waiting -= 1;
      take(line);
      begin();
    }
    if (waiting > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function measure(): void {
    places = nextPlaces(places, utilization());
    beginMore();
  }

  async function untilPlace(line: Line): Promise<void> {
    waiting += 1;
    if (timer === undefined) {
      utilization(); // the next one is since now
      timer = setInterval(measure, MEASURE_MS);
    }
    await new Promise<void>((resolve) => void line.waiting.push(resolve));
  }

  return async (account, check) => {
    const line = lines.get(account) ?? { underWay: 0, waiting: [] };
    lines.set(account, line);
    if (taken < places && waiting === 0) take(line);
    else await untilPlace(line);
    return untilAway(check(), () => giveBack(account, line));
  };
}

/** The account that has the fewest under way of those that wait; of equal ones the one that came first. */
function leastOf(lines: Iterable<Line>): Line | undefined {
  const waiting = [...lines].filter((line) => line.waiting.length > 0);
  return waiting.reduce<Line | undefined>(
    (least, line) => (line.underWay < (least?.underWay ?? Number.POSITIVE_INFINITY) ? line : least),
    undefined,
  );
}

function nextPlaces(places: number, utilization: number): number {
  if (utilization > busy.tooMuch) return Math.max(PLACES_MIN, Math.floor(places * 0.75));
  return utilization < busy.little ? places + Math.ceil(places / 4) : places;
}

/** Calls `away` once, when the work has ended or has taken too long. */
async function untilAway<T>(work: Promise<T>, away: () => void): Promise<T> {
  let isAway = false;
  const leave = () => {
    if (!isAway) away();
    isAway = true;
  };
  const timer = setTimeout(leave, HELD_MS_MAX);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    leave();
  }
}
