import { describe, expect, it } from 'vitest';
import { createAsk, createAuthorityHealth } from '../../src/certificates/authorities/health.ts';
import { certificateFault } from '../../src/certificates/fault.ts';
import { later, noon } from '../support/builders.ts';

const MINUTE = 60_000;
const first = 'https://first.example/dir';

function start(timeScale = 1) {
  let at = noon;
  const changes: string[] = [];
  const health = createAuthorityHealth({
    now: () => at,
    timeScale,
    onChange: (_directoryUrl, state) => changes.push(state),
  });
  const pass = (ms: number) => {
    at = later(at, ms);
  };
  /** So many failures, a minute between each. */
  const fail = (times: number) => {
    for (let time = 0; time < times; time++) {
      if (time > 0) pass(MINUTE);
      health.note(first, 'ca_unreachable');
    }
  };
  return { health, changes, pass, fail };
}

describe('how long an authority is down', () => {
  it('counts from the first failure in a row to the last, whichever orders they were', () => {
    const { health, fail, changes } = start();
    expect(health.downForMs(first)).toBe(0);
    fail(1);
    expect(health.downForMs(first)).toBe(0);
    fail(6);
    expect(health.downForMs(first)).toBe(5 * MINUTE);
    expect(health.downForMs('https://second.example/dir')).toBe(0);
    expect(changes).toEqual(['down']);
  });

  it('ends with any answer, which is told', () => {
    const { health, fail, changes } = start();
    fail(7);
    health.note(first, 'answered');
    health.note(first, 'answered');
    expect(health.downForMs(first)).toBe(0);
    expect(changes).toEqual(['down', 'up']);
  });

  it('is not over because nobody has tried: after 5 minutes it may be asked', () => {
    const { health, fail, pass } = start();
    expect(health.mayAsk(first)).toBe(true);
    fail(7);
    expect(health.mayAsk(first)).toBe(false);
    pass(5 * MINUTE);
    expect([health.mayAsk(first), health.downForMs(first)]).toEqual([true, 6 * MINUTE]);
    pass(10 * 60 * MINUTE);
    expect(health.downForMs(first)).toBe(6 * MINUTE);
    fail(1);
    expect(health.downForMs(first)).toBe(11 * MINUTE + 600 * MINUTE);
  });

  it('is over once it answers a question; an order that fails all the same goes on with it', () => {
    const { health, fail, pass, changes } = start();
    fail(7);
    pass(5 * MINUTE);
    health.note(first, 'reached');
    expect(health.downForMs(first)).toBe(0);
    expect(health.answeredAt(first)).toEqual(later(noon, 11 * MINUTE));
    fail(1);
    expect(health.downForMs(first)).toBe(11 * MINUTE);
    expect(changes).toEqual(['down']);
  });

  it('counts again after half an hour where it was a blip', () => {
    const { health, fail, pass } = start();
    fail(3);
    pass(30 * MINUTE);
    fail(2);
    expect(health.downForMs(first)).toBe(MINUTE);
  });

  it('takes an order that is slow for an answer', () => {
    const { health, fail, changes } = start();
    health.note(first, 'order_still_open');
    expect([health.downForMs(first), changes]).toEqual([0, []]);
    fail(7);
    health.note(first, 'order_still_open');
    expect([health.downForMs(first), changes]).toEqual([0, ['down', 'up']]);
  });

  it('passes faster by TIME_SCALE', () => {
    const { health, fail, pass } = start(60);
    fail(1);
    pass(4_000);
    fail(1);
    expect(health.downForMs(first)).toBe(4_000);
    pass(4_999);
    expect(health.mayAsk(first)).toBe(false);
    pass(1);
    expect(health.mayAsk(first)).toBe(true);
  });
});

describe('whether an authority answers', () => {
  it('is asked once, however many want to know, and not again for 5 minutes', async () => {
    const { health, fail, pass } = start();
    fail(7);
    let resolve = () => {};
    const answer = new Promise<void>((done) => {
      resolve = done;
    });
    let asked = 0;
    const no = () => Promise.reject(new Error('it was not to be asked this'));
    const reach = () => {
      asked += 1;
      return answer;
    };
    const authority = { name: 'first', accountUri: no, advance: no, renewalInfo: no, reach };
    const ask = createAsk([{ directoryUrl: first, issuerDomains: ['ca.test'], authority }], health);
    await ask(first);
    expect(asked).toBe(0);
    pass(5 * MINUTE);
    const asking = [ask(first), ask(first)];
    resolve();
    await Promise.all(asking);
    await ask(first);
    expect([asked, health.downForMs(first)]).toEqual([1, 0]);
  });

  it('is no where it fails, which is no fault of the job', async () => {
    const { health } = start();
    const no = () => Promise.reject(certificateFault('ca_unreachable', 'no answer'));
    const authority = { name: 'first', accountUri: no, advance: no, renewalInfo: no, reach: no };
    const ask = createAsk([{ directoryUrl: first, issuerDomains: ['ca.test'], authority }], health);
    await ask(first);
    expect([health.answeredAt(first), health.mayAsk(first)]).toEqual([null, false]);
  });
});
