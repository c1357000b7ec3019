/** When the machine stood still, so that its slowness is not taken for the service's. */

/** Times are those of the machine's clock, in ms. */
export type Span = { readonly from: number; readonly to: number };

export type Stalls = {
  /** Notes one that was seen elsewhere. */
  add(span: Span): void;
  /** How much of a time was stall, in ms. */
  within(span: Span): number;
  close(): void;
};

const BEAT_MS = 50;
const LATE_MS = 100; // what is quicker is no stall

/** Watches this process's event loop, too. */
export function createStalls(): Stalls {
  const spans: Span[] = [];
  let due = Date.now() + BEAT_MS;
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - due > LATE_MS) spans.push({ from: due, to: now });
    due = now + BEAT_MS;
  }, BEAT_MS).unref();
  return {
    add: (span) => void spans.push(span),
    within: (span) => covered(spans, span),
    close: () => clearInterval(timer),
  };
}

/** What two have seen counts once. */
function covered(spans: readonly Span[], { from, to }: Span): number {
  let [sum, end] = [0, from];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const start = Math.max(span.from, end);
    const stop = Math.min(span.to, to);
    if (stop <= start) continue;
    sum += stop - start;
    end = stop;
  }
  return sum;
}
