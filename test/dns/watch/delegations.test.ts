/** Whom the domains of pending names are delegated to, under a clock of the test's own. */
import { describe, expect, it } from 'vitest';
import { aName, simulate } from './simulated.ts';

const [SECOND, MINUTE] = [1_000, 60_000];
const [HERE, SHOWN] = ['192.0.2.1', '198.51.100.1'];

describe('the delegation of a pending name', () => {
  it('is asked for once in half an hour, and that of others never', async () => {
    const { watch, delegationQuestions, pass } = simulate(() => SHOWN);
    watch.put(aName('pending', SHOWN, [HERE]));
    watch.put(aName('live', SHOWN, [HERE], { status: 'live' }));
    watch.put(aName('drifted', SHOWN, [HERE], { status: 'drifted' }));
    await pass(91 * MINUTE);
    const hostnames = delegationQuestions.map(({ hostname }) => hostname);
    expect(hostnames).toEqual(Array(4).fill('pending.example.com'));
  });

  it('brings the check forward where it has changed, of every name', async () => {
    const changedAt = 40 * MINUTE;
    const { watch, differences, pass } = simulate(() => SHOWN, {
      delegationAt: (_, at) => (at < changedAt ? 1 : 2),
    });
    for (const id of ['shop', 'docs', 'www']) watch.put(aName(id, SHOWN, [HERE]));
    await pass(changedAt);
    expect(differences).toEqual([]);
    await pass(31 * MINUTE);
    expect(differences.map(({ id }) => id).toSorted()).toEqual(['docs', 'shop', 'www']);
    await pass(120 * MINUTE);
    expect(differences).toHaveLength(3);
  });

  it('says nothing while nobody can tell', async () => {
    const { watch, differences, delegationQuestions, pass } = simulate(() => SHOWN, {
      delegationAt: (_, at) => (at > 20 * MINUTE && at < 80 * MINUTE ? null : 1),
    });
    watch.put(aName('one', SHOWN, [HERE]));
    await pass(5 * 60 * MINUTE);
    expect(delegationQuestions.length).toBeGreaterThanOrEqual(9);
    expect(differences).toEqual([]);
  });

  it('is asked for a few times a second, however many names there are and whatever is passed over', async () => {
    const { watch, delegationQuestions, pass } = simulate(() => SHOWN, {
      rates: { operator: 1, address: 1 },
    });
    for (let i = 0; i < 2_000; i++) {
      const status = i % 2 === 0 ? 'pending' : 'live';
      watch.put(aName(`n${i}`, SHOWN, [HERE], { status }));
    }
    await pass(10 * SECOND);
    expect(delegationQuestions.length).toBeGreaterThan(100);
    expect(delegationQuestions.length).toBeLessThanOrEqual(201);
    await pass(50 * SECOND);
    expect(new Set(delegationQuestions.map(({ hostname }) => hostname)).size).toBe(1_000);
    expect(delegationQuestions).toHaveLength(1_000);
  });

  it('ends with the name', async () => {
    const { watch, delegationQuestions, pass } = simulate(() => SHOWN);
    watch.put(aName('one', SHOWN, [HERE]));
    watch.put(aName('two', SHOWN, [HERE]));
    watch.remove('one');
    await pass(61 * MINUTE);
    expect(new Set(delegationQuestions.map(({ hostname }) => hostname))).toEqual(
      new Set(['two.example.com']),
    );
  });
});
