/**
 * Loaded into each process under test (`--import`): measures it, blocks its event loop and shifts
 * its clock. Acts only on SIGUSR2, except for CLOCK_SHIFT_MS, which shifts `Date` from the start.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
if (shiftMs !== 0) moveClock(shiftMs);

const orders = process.env['FAULTS_ORDERS'] ?? '';
if (orders !== '') process.on('SIGUSR2', obey);

/** A signal has no payload, so the command is in a file. */
function obey(): void {
  const { blockMs } = JSON.parse(readFileSync(`${orders}/${process.pid}.order`, 'utf8'));
  if (typeof blockMs === 'number') block(blockMs);
  else void measure();
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Twice, with an event loop turn in between, to collect what finalizers release. */
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
