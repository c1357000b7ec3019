/**
 * Loaded into each process under test (`--import`): measures it, blocks its event loop, and moves its clock. Says nothing and
 * does nothing until it gets SIGUSR2, but for CLOCK_SHIFT_MS, which moves `Date` from the first moment on.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
if (shiftMs !== 0) moveClock(shiftMs);

const orders = process.env['FAULTS_ORDERS'] ?? '';
if (orders !== '') process.on('SIGUSR2', obey);

/** The order lies in a file, because a signal carries nothing. */
function obey(): void {
  const { blockMs } = JSON.parse(readFileSync(`${orders}/${process.pid}.order`, 'utf8'));
  if (typeof blockMs === 'number') block(blockMs);
  else void measure();
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Twice, with a turn of the event loop between: what finalizers let go of is collected, too. */
async function measure(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // V8's own
  collect();
  await new Promise((resolve) => setTimeout(resolve, 50));
  collect();
  const { heapUsed, external } = process.memoryUsage();
  const measured = { heapBytes: heapUsed + external };
  writeFileSync(`${orders}/${process.pid}.measured`, JSON.stringify(measured));
}

function moveClock(ms: number): void {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, made) =>
      Reflect.construct(target, given.length === 0 ? [target.now() + ms] : given, made),
    apply: (target) => new target(target.now() + ms).toString(),
    get: (target, name) => (name === 'now' ? () => target.now() + ms : Reflect.get(target, name)),
  });
}
