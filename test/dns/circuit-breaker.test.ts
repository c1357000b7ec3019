import { describe, expect, it } from 'vitest';
import {
  admits,
  afterOutcome,
  afterSending,
  type Circuit,
  closed,
  createCircuits,
  type QueryOutcome,
} from '../../src/dns/servers/throttle.ts';

const NOW = 1_000_000;
const silentFor = (timeouts: number): Circuit => ({ kind: 'closed', timeouts });
const probing = (openMs: number): Circuit => ({ kind: 'probing', openMs });
const open = (untilIn: number, openMs: number): Circuit => {
  return { kind: 'open', until: NOW + untilIn, openMs };
};

describe('the circuit after a query', () => {
  it.each<[before: Circuit, outcome: QueryOutcome, after: Circuit]>([
    [closed, 'answer', closed],
    [closed, 'nothing', closed],
    [closed, 'silence', silentFor(1)],
    [silentFor(1), 'silence', silentFor(2)],
    [silentFor(1), 'nothing', silentFor(1)],
    [silentFor(2), 'nothing', silentFor(2)],
    [silentFor(2), 'answer', closed],
    [silentFor(2), 'silence', open(30_000, 30_000)],
    // Outcomes of queries from before the pause: a timeout changes nothing, a response closes it.
    [open(20_000, 30_000), 'silence', open(20_000, 30_000)],
    [open(20_000, 30_000), 'nothing', open(20_000, 30_000)],
    [open(20_000, 30_000), 'answer', closed],
    [probing(30_000), 'answer', closed],
    [probing(30_000), 'silence', open(60_000, 60_000)],
    [probing(60_000), 'silence', open(120_000, 120_000)],
    [probing(120_000), 'silence', open(240_000, 240_000)],
    [probing(240_000), 'silence', open(300_000, 300_000)],
    [probing(300_000), 'silence', open(300_000, 300_000)],
    // The probe was not sent, so another one may go at once.
    [probing(60_000), 'nothing', open(0, 60_000)],
  ])('%j + %s = %j', (before, outcome, after) => {
    expect(afterOutcome(before, outcome, NOW)).toEqual(after);
  });
});

describe('a query is allowed', () => {
  it.each<[circuit: Circuit, may: boolean, afterwards: Circuit]>([
    [closed, true, closed],
    [silentFor(2), true, silentFor(2)],
    [open(0, 30_000), true, probing(30_000)],
    [open(-5_000, 60_000), true, probing(60_000)],
  ])('%j: %s, followed by %j', (circuit, may, afterwards) => {
    expect(admits(circuit, NOW)).toBe(may);
    expect(afterSending(circuit)).toEqual(afterwards);
  });

  it.each<[circuit: Circuit]>([[open(1, 30_000)], [open(300_000, 300_000)], [probing(30_000)]])(
    'only later while %j',
    (circuit) => {
      expect(admits(circuit, NOW)).toBe(false);
    },
  );
});

describe('circuit breakers', () => {
  function openCircuits() {
    const clock = { now: NOW };
    const circuits = createCircuits(() => clock.now);
    const silence = (key: string, zone = 'shop.test') => {
      circuits.sent(key, zone);
      circuits.ended(key, zone, 'silence');
    };
    return { clock, circuits, silence };
  }

  it('are separate per server', () => {
    const { circuits, silence } = openCircuits();
    for (let i = 0; i < 3; i++) silence('a');
    expect(circuits.admits('a', 'shop.test')).toBe(false);
    expect(circuits.admits('b', 'shop.test')).toBe(true);
  });

  it('allow one probe after the pause and double the pause while the server is silent', () => {
    const { clock, circuits, silence } = openCircuits();
    for (let i = 0; i < 3; i++) silence('a');
    const pauses: number[] = [];
    for (let i = 0; i < 6; i++) {
      const began = clock.now;
      while (!circuits.admits('a', 'shop.test')) clock.now += 1_000;
      pauses.push((clock.now - began) / 1_000);
      circuits.sent('a', 'shop.test');
      expect(circuits.admits('a', 'shop.test')).toBe(false);
      circuits.ended('a', 'shop.test', 'silence');
    }
    expect(pauses).toEqual([30, 60, 120, 240, 300, 300]);
  });

  it('reset after a response', () => {
    const { clock, circuits, silence } = openCircuits();
    for (let i = 0; i < 3; i++) silence('a');
    clock.now += 30_000;
    circuits.sent('a', 'shop.test');
    circuits.ended('a', 'shop.test', 'answer');
    for (let i = 0; i < 2; i++) silence('a');
    expect(circuits.admits('a', 'shop.test')).toBe(true);
    silence('a');
    expect(circuits.admits('a', 'shop.test')).toBe(false);
    clock.now += 30_000;
    expect(circuits.admits('a', 'shop.test')).toBe(true);
  });

  it('are separate per zone of one server', () => {
    const { circuits, silence } = openCircuits();
    for (let i = 0; i < 9; i++) silence('a', 'evil.test');
    expect(circuits.admits('a', 'evil.test')).toBe(false);
    expect(circuits.admits('a', 'shop.test')).toBe(true);
  });

  it('pause a whole server after timeouts for three zones in a row, until one response', () => {
    const { clock, circuits, silence } = openCircuits();
    for (const zone of ['one.test', 'two.test', 'two.test']) silence('a', zone);
    expect(circuits.admits('a', 'shop.test')).toBe(true);
    silence('a', 'three.test');
    expect(circuits.admits('a', 'shop.test')).toBe(false);
    expect(circuits.admits('b', 'shop.test')).toBe(true);
    clock.now += 30_000;
    circuits.sent('a', 'shop.test');
    expect(circuits.admits('a', 'other.test')).toBe(false);
    circuits.ended('a', 'shop.test', 'answer');
    expect(circuits.admits('a', 'other.test')).toBe(true);
  });

  it('do not pause a server that responds in between', () => {
    const { circuits, silence } = openCircuits();
    for (const zone of ['one.test', 'two.test']) silence('a', zone);
    circuits.ended('a', 'shop.test', 'answer');
    for (const zone of ['three.test', 'four.test']) silence('a', zone);
    expect(circuits.admits('a', 'shop.test')).toBe(true);
  });
});
