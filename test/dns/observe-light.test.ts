/** A check that asks one server whether a known problem still exists. */
import { afterEach, describe, expect, it } from 'vitest';
import { questions } from '../../bench/ladder/ladders.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import type { Earlier, Observer } from '../../src/dns/observe/observe.ts';
import { asked, closeAll, comparedWith } from './test-lab.ts';
import { checkTarget, hostname, openZone, right, unhealthy } from './two-servers.ts';

afterEach(closeAll);

const lightAt = (observation: Observation): Earlier => ({ observation, depth: 'light' });

describe('a light check of a known problem', () => {
  it.each(unhealthy)('costs $light: $title', async ({ lines, edge: edgeLines, light }) => {
    const { observer, count, forget } = await openZone(lines, edgeLines);
    const previous = await observer.observe(checkTarget);
    forget();
    expect((await observer.observeAgain(checkTarget, lightAt(previous))).kind).toBe('unchanged');
    expect(count()).toHaveLength(light);
  });

  /** bench/ladder/ladders.ts relies on these numbers. */
  it('costs one query where a full comparison costs two, and a full check twelve', async () => {
    const { observer, openAnother, count, forget } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    const counted = async (one: Observer, earlier?: Earlier) => {
      forget();
      await (earlier ? one.observeAgain(checkTarget, earlier) : one.observe(checkTarget));
      return count().length;
    };
    expect(await counted(observer, lightAt(previous))).toBe(questions.light);
    expect(await counted(observer, comparedWith(previous))).toBe(questions.compare);
    const { delegation } = questions;
    expect(await counted(await openAnother())).toBe(questions.full + delegation);
    expect(await counted(await openAnother(), lightAt(previous))).toBe(
      questions.light + delegation,
    );
  });

  it('asks another server each time, so that it detects the record at any of them', async () => {
    const { observer, both, forget } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    forget();
    await expect
      .poll(async () => {
        await observer.observeAgain(checkTarget, lightAt(previous));
        return both.filter((server) => asked(server).length > 0).length;
      })
      .toBe(2);
    for (const server of both) {
      server.edit('shop.test', { add: [right] });
      await expect
        .poll(async () => (await observer.observeAgain(checkTarget, lightAt(previous))).kind, {
          interval: 0,
        })
        .toBe('observed');
      server.edit('shop.test', { remove: [right] });
    }
  });

  it('asks each server when they disagreed', async () => {
    const { observer, both, count, forget } = await openZone([]);
    both[1]?.edit('shop.test', { add: ['docs CNAME other.test.'] });
    const previous = await observer.observe(checkTarget);
    forget();
    expect((await observer.observeAgain(checkTarget, lightAt(previous))).kind).toBe('unchanged');
    expect(count()).toHaveLength(2);
  });

  it('skips a server that did not answer before', async () => {
    const { observer, both, forget } = await openZone([]);
    both[1]?.fail(hostname, 'A', 'refused');
    const previous = await observer.observe(checkTarget);
    forget();
    for (let nth = 0; nth < 10; nth += 1) {
      expect((await observer.observeAgain(checkTarget, lightAt(previous))).kind).toBe('unchanged');
    }
    expect(both.map((server) => asked(server).length)).toEqual([10, 0]);
  });
});
