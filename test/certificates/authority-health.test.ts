import { describe, expect, it } from 'vitest';
import { createAsk, createAuthorityHealth } from '../../src/certificates/authorities/health.ts';
import { certificateFault } from '../../src/certificates/fault.ts';
import { MINUTE } from '../../src/core/time.ts';
import { later, noon } from '../support/builders.ts';

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
  const fail = (times: number) => {
    for (let time = 0; time < times; time++) {
      if (time > 0) pass(MINUTE);
      health.note(first, 'ca_unreachable');
    }
  };
  return { health, changes, pass, fail };
}

describe('the downtime of a CA', () => {
  it('counts from the first to the last consecutive failure of any order', () => {
    const { health, fail, changes } = start();
    expect(health.downForMs(first)).toBe(0);
    fail(1);
    expect(health.downForMs(first)).toBe(0);
    fail(6);
    expect(health.downForMs(first)).toBe(5 * MINUTE);
    expect(health.downForMs('https://second.example/dir')).toBe(0);
    expect(changes).toEqual(['down']);
  });

  it('ends with a response and fires one event', () => {
    const { health, fail, changes } = start();
    fail(7);
    health.note(first, 'answered');
    health.note(first, 'answered');
    expect(health.downForMs(first)).toBe(0);
    expect(changes).toEqual(['down', 'up']);
  });

  it('continues while no order tries; after 5 minutes a probe is allowed', () => {
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

  it('ends when the CA responds; a failing order resumes it', () => {
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

  it('restarts after half an hour without a failure', () => {
    const { health, fail, pass } = start();
    fail(3);
    pass(30 * MINUTE);
    fail(2);
    expect(health.downForMs(first)).toBe(MINUTE);
  });

  it('treats a slow order as a response', () => {
    const { health, fail, changes } = start();
    health.note(first, 'order_still_open');
    expect([health.downForMs(first), changes]).toEqual([0, []]);
    fail(7);
    health.note(first, 'order_still_open');
    expect([health.downForMs(first), changes]).toEqual([0, ['down', 'up']]);
  });

  it('scales with TIME_SCALE', () => {
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

describe('a probe of a CA', () => {
  it('runs once for concurrent callers and then not for 5 minutes', async () => {
    const { health, fail, pass } = start();
    fail(7);
    let resolve = () => {};
    const answer = new Promise<void>((done) => {
      resolve = done;
    });
    let asked = 0;
    const no = () => Promise.reject(new Error('unexpected request'));
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

  it('reports a failure without failing the job', async () => {
    const { health } = start();
    const no = () => Promise.reject(certificateFault('ca_unreachable', 'no answer'));
    const authority = { name: 'first', accountUri: no, advance: no, renewalInfo: no, reach: no };
    const ask = createAsk([{ directoryUrl: first, issuerDomains: ['ca.test'], authority }], health);
    await ask(first);
    expect([health.answeredAt(first), health.mayAsk(first)]).toEqual([null, false]);
  });
});
