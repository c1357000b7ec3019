/** Times are in ms of the machine's clock. */

export type Span = { readonly from: number; readonly to: number };

export type Stalls = {
  /** Adds a stall detected elsewhere. */
  add(span: Span): void;
  /** How much of the span was stalled, in ms. */
  within(span: Span): number;
  close(): void;
};

const BEAT_MS = 50;
const LATE_MS = 100; // anything shorter is not a stall

/** Also watches this process's event loop. */
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

/** Overlaps count once. */
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
