/** The fast-check commands of a history; each can run at any time. */
import fc from 'fast-check';
import { defaultConfig } from '../support/plain-service.ts';
import type { Alarm } from './alarm-clock.ts';
import { authorities, command, type NoModel, place, project, type Real, shows } from './command.ts';
import { outsideRuns } from './crash-injector.ts';
import { customer, type Doing, publish, settle, someDomain } from './customer.ts';
import { DAY, HOUR, MINUTE, SECOND } from './entry.ts';
import { type History, shownAt } from './history.ts';
import { work } from './runs.ts';
import { nothingShown, type Shown } from './shown.ts';
import { pass, repair } from './time.ts';

/** The record at a held name leads elsewhere or is missing for hours, and sometimes is repaired. */
const drifts = fc
  .tuple(place, fc.constantFrom('missing' as const, 2), fc.boolean())
  .map(([at, record, returns]) =>
    command(
      `the record of ${at} is ${record} for hours${returns ? ', and right again' : ''}`,
      async (history) => {
        const was = shownAt(history, history.places[at]?.hostname ?? '');
        publish(history, at, { ...was, record });
        await pass(history, HOUR, 3);
        await pass(history, 11 * MINUTE, 3);
        if (!returns) return;
        publish(history, at, was);
        await pass(history, 20 * MINUTE, 3);
      },
    ),
  );

/** No certificate for longer than ESCALATE_AFTER: an escalation, maybe with a changing cause. */
const waitsForCertificate = fc
  .tuple(project, place, authorities, shows)
  .map(([of, at, authority, shown]) =>
    command(
      `project ${of} adds ${at}, the CA: ${JSON.stringify(authority)}; then ${JSON.stringify(shown)}`,
      async (history) => {
        history.authority = authority;
        await settle(history, [of, at], true);
        await pass(history, defaultConfig.escalateAfterMs + MINUTE, 2);
        publish(history, at, shown);
        await pass(history, defaultConfig.escalateAfterMs + MINUTE, 2);
        await pass(history, defaultConfig.escalateAfterMs + MINUTE, 2);
      },
    ),
  );

/** A certificate of six days that is not renewed in time. */
const ends = fc
  .tuple(project, place, fc.boolean(), fc.boolean())
  .map(([of, at, refuses, returns]) =>
    command(
      `the certificate of ${at} of ${of} ends, orders are ${refuses ? 'refused' : 'not answered'}${returns ? ' for a while' : ''}`,
      async (history) => {
        const { authority } = history;
        history.authority = { kind: 'issues', lifeMs: 6 * DAY };
        await settle(history, [of, at], true);
        history.authority = refuses
          ? { kind: 'refuses', type: 'other', waitMs: null }
          : { kind: 'is_silent' };
        await pass(history, 5 * DAY, 1);
        await pass(history, 2 * DAY, 1);
        if (!returns) return;
        history.authority = authority;
        await pass(history, DAY, 3);
      },
    ),
  );

const doing = fc.constantFrom<Doing>('add', 'remove', 'verify');
const dies = fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true));

const adds = fc
  .tuple(project, place, dies)
  .map(([of, at, dead]) =>
    command(`project ${of} adds ${at}${dead ? ', API dies' : ''}`, (history) =>
      customer(history, 'add', [of, at], dead),
    ),
  );

/** Adds a name; removes or verifies an existing one. */
async function does(
  history: History,
  what: Doing,
  which: readonly [number, number],
  dead: boolean,
): Promise<void> {
  await customer(history, what, what === 'add' ? which : someDomain(history, which), dead);
}

const asks = fc
  .tuple(doing, project, place, dies)
  .map(([what, of, at, dead]) =>
    command(`${what} (${of}, ${at})${dead ? ', API dies' : ''}`, (history) =>
      does(history, what, [of, at], dead),
    ),
  );

const publishes = fc
  .tuple(place, shows)
  .map(([at, shown]) =>
    command(`DNS of ${at}: ${JSON.stringify(shown)}`, async (history) =>
      publish(history, at, shown),
    ),
  );

/** The usual customer: adds the domain, creates the record, and waits. */
const settles = fc
  .tuple(project, place, fc.boolean())
  .map(([of, at, proves]) =>
    command(
      `project ${of} adds ${at} and creates the record${proves ? ', and the TXT' : ''}`,
      (history) => settle(history, [of, at], proves),
    ),
  );

const answers = authorities.map((authority) =>
  command(`the CA: ${JSON.stringify(authority)}`, async (history) => {
    history.authority = authority;
  }),
);

const steps = fc.constantFrom(
  5 * SECOND,
  25 * SECOND,
  2 * MINUTE,
  11 * MINUTE,
  defaultConfig.escalateAfterMs + MINUTE,
  2 * HOUR,
  11 * HOUR,
  49 * HOUR,
  8 * DAY,
  31 * DAY,
  70 * DAY,
);

const passes = steps.map((ms) =>
  command(`${ms / MINUTE} minutes pass`, (history) => pass(history, ms, 3)),
);

const sleeps = steps.map((ms) =>
  command(`${ms / MINUTE} minutes pass without workers`, async (history) => {
    const { system } = history;
    system.setTime(system.now() + ms);
    // A minute from now, as after a restart.
    history.lostAt = system.now();
    await pass(history, 0, 3);
  }),
);

const kills = fc.integer({ min: 1, max: 9 }).map((after) =>
  command(`the next run is killed after ${after} answers`, async (history) => {
    history.killAfter = after;
    await pass(history, 21 * SECOND, 8);
  }),
);

const empties = fc.constant(
  command('Redis is emptied', async (history) => {
    history.system.alarms.empty();
    history.lostAt = history.system.now();
  }),
);

type Meanwhile =
  | 'the same job, once more'
  | { readonly customer: Doing; readonly of: number; readonly at: number }
  | { readonly shows: Shown; readonly at: number }
  /** Another project adds the name and its proof, and its domain is checked. */
  | { readonly claims: number; readonly at: number };

const meanwhiles: fc.Arbitrary<Meanwhile> = fc.oneof(
  fc.constant('the same job, once more' as const),
  fc.record({ customer: doing, of: project, at: place }),
  fc.record({ shows, at: place }),
  fc.record({ claims: project, at: place }),
);

/** A concurrent action during a run. */
function happening(history: History, what: Meanwhile, alarm: Alarm | null): () => Promise<void> {
  const happens = async () => {
    history.log.push('meanwhile:');
    await act(history, what, alarm);
    history.woken = null;
    history.log.push('so much for that.');
  };
  return () => outsideRuns(() => history.runRecords.exit(happens));
}

async function act(history: History, what: Meanwhile, alarm: Alarm | null): Promise<void> {
  if (what === 'the same job, once more') await (alarm && work(history, alarm));
  else if ('shows' in what) publish(history, what.at, what.shows);
  else if ('claims' in what) await claim(history, what.claims, what.at);
  else await does(history, what.customer, [what.of, what.at], false);
}

async function claim(history: History, of: number, at: number): Promise<void> {
  const { alarms, now } = history.system;
  await customer(history, 'add', [of, at], false);
  publish(history, at, { ...nothingShown, record: of, proofs: [of] });
  for (let checks = 0; checks < 4; checks += 1) {
    const alarm = alarms.take(now());
    if (alarm !== undefined) await work(history, alarm);
  }
}

/** The next job runs while a concurrent action happens during its DNS check. */
const races = meanwhiles.map((what) =>
  command(`during the next check: ${JSON.stringify(what)}`, async (history) => {
    const { system } = history;
    const at = system.alarms.nextAt();
    if (at === undefined || at > system.now() + HOUR) return;
    system.setTime(Math.max(system.now(), at));
    const alarm = system.alarms.take(system.now());
    if (alarm === undefined) return;
    await work(history, alarm, happening(history, what, alarm));
    await pass(history, 2 * SECOND, 8);
  }),
);

/** A domain is settled or renewed with a concurrent action during its order at the CA. */
const racesAtOrder = fc
  .tuple(meanwhiles, project, place, fc.constantFrom(30 * SECOND, 2 * HOUR, 70 * DAY))
  .map(([what, of, at, ms]) =>
    command(
      `project ${of} adds ${at}, ${ms / MINUTE} minutes pass; at the next order: ${JSON.stringify(what)}`,
      async (history) => {
        history.atOrder = happening(history, what, null);
        await settle(history, [of, at], true);
        if (history.atOrder !== null) await pass(history, ms, 4);
        history.atOrder = null;
        await pass(history, 2 * SECOND, 8);
      },
    ),
  );

/** The order is continued wherever it was, and never doubled. */
const killsAtOrder = fc
  .tuple(fc.integer({ min: 1, max: 5 }), project, place)
  .map(([after, of, at]) =>
    command(
      `project ${of} adds ${at}; the run at the next order is killed after ${after} answers`,
      async (history) => {
        history.killAtOrder = after;
        await settle(history, [of, at], true);
        history.killAtOrder = null;
        await pass(history, 21 * SECOND, 8);
      },
    ),
  );

/** Frequent enough to be seen, as it only acts after a loss. */
const reconciles = fc.constant(command('a run of the reconciler', repair));

/** A history starts with customers, as nothing happens without them. */
export const histories = fc.commands<NoModel, Real, boolean>(
  [
    adds,
    ...[settles, settles, settles],
    ...[asks, asks, asks],
    publishes,
    answers,
    passes,
    sleeps,
    kills,
    killsAtOrder,
    empties,
    ...[races, races],
    ...[racesAtOrder, racesAtOrder],
    ...[drifts, drifts, drifts],
    waitsForCertificate,
    ends,
    reconciles,
  ],
  { maxCommands: 9, size: 'max' },
);
