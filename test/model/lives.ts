import fc from 'fast-check';
import { defaultConfig } from '../support/plain-service.ts';
import { authorities, command, place, project, shows } from './command.ts';
import { publish, settle } from './customer.ts';
import { DAY, HOUR, MINUTE } from './entry.ts';
import { shownAt } from './history.ts';
import { pass } from './time.ts';

/** The record at a held name leads elsewhere or is missing for hours, and sometimes is repaired. */
export const drifts = fc
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
export const waitsForCertificate = fc
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
export const ends = fc
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
