import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepFromSpinning } from '../../workers/running/clock-guard.ts';

class FakeWorker extends EventEmitter {
  pauses = 0;
  #paused = false;
  isPaused() {
    return this.#paused;
  }
  async pause() {
    this.#paused = true;
    this.pauses += 1;
  }
  resume() {
    this.#paused = false;
  }
}

function burst(worker: FakeWorker) {
  for (let index = 0; index < 10; index += 1) worker.emit('error', new Error('away'));
}

describe('a worker whose queue is down', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('keeps running and is not paused by a few errors', () => {
    const worker = new FakeWorker();
    keepFromSpinning(worker, pino({ level: 'silent' }));
    for (let index = 0; index < 9; index += 1) worker.emit('error', new Error('away'));
    vi.advanceTimersByTime(1_000);
    worker.emit('error', new Error('away'));
    expect(worker.pauses).toBe(0);
  });

  it('is not paused for lost locks, which BullMQ reports once per job', () => {
    const worker = new FakeWorker();
    keepFromSpinning(worker, pino({ level: 'silent' }));
    for (let index = 0; index < 500; index += 1) {
      worker.emit('error', new Error(`could not renew lock for job ${index}`));
    }
    expect(worker.pauses).toBe(0);
    burst(worker);
    expect(worker.pauses).toBe(1);
  });

  it('is paused after a burst of errors, longer each time, and resumes', () => {
    const worker = new FakeWorker();
    keepFromSpinning(worker, pino({ level: 'silent' }));
    for (const waitMs of [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      burst(worker);
      expect(worker.isPaused()).toBe(true);
      vi.advanceTimersByTime(waitMs - 1);
      expect(worker.isPaused()).toBe(true);
      vi.advanceTimersByTime(1);
      expect(worker.isPaused()).toBe(false);
    }
    vi.advanceTimersByTime(60_001);
    burst(worker);
    vi.advanceTimersByTime(500);
    expect(worker.isPaused()).toBe(false);
  });
});
