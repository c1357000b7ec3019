/** Words for what resolvers make of a zone that is right: broken signatures, and old answers they remember. */

import { bogusCause, describeExtendedError } from './extended-errors.ts';
import type { Actor } from './findings.ts';
import type { ExtendedError } from './observation.ts';
import { foreign, foreignName, keeperOf, lines, recordIn, type WordsFor } from './words.ts';

export const worldWords: WordsFor<'dnssec_bogus' | 'old_answer_cached'> = {
  dnssec_bogus: ({ hostname, errors, ...finding }) => {
    const zone = foreign(finding.zone);
    return {
      summary: `DNSSEC of ${zone} is broken: much of the internet refuses its answers, and no certificate can be issued for ${hostname}.`,
      expected: `Signatures of ${zone} that match the DS record at ${keeperOf(finding.zone)}, or no DS record.`,
      found:
        errors.length === 0
          ? 'Resolvers that check signatures fail; without the check they answer.'
          : `Resolvers that check signatures fail: ${lines(errors.map(describeExtendedError), '; ')}`,
      action: repairOf(errors)(zone, keeperOf(finding.zone)),
    };
  },
  old_answer_cached: (finding) => {
    const { hostname, remembered, resolvers, until } = finding;
    const what = remembered === 'negative' ? 'that there was no record' : 'the record of before';
    const end = until === null ? undefined : clockTime(until);
    return {
      summary: `The DNS of ${hostname} is right; some resolvers still remember ${what}.`,
      expected: recordIn(finding),
      found: lines(
        resolvers.map(({ server, shows }) => `${foreign(server)}: ${foreignName(shows)}`),
      ),
      action: `Nothing for you to do: they forget it by themselves, ${end === undefined ? 'mostly within hours' : `at the latest at ${end}`}. Until then some visitors may not arrive here.`,
    };
  },
};

/** Expired, premature or incomplete signatures are made by whoever runs the zone; a DS record is the customer's. */
export function bogusActor(errors: readonly ExtendedError[]): Actor {
  return bySigner.has(bogusCause(errors)?.code ?? -1) ? 'dns_provider' : 'customer';
}

const bySigner: ReadonlySet<number> = new Set([7, 8, 12]);

type Repair = (zone: string, keeper: string) => string;

/** By the code of the cause; the usual one is a DS record that a former provider left behind. */
const repairs: ReadonlyMap<number, Repair> = new Map<number, Repair>([
  [7, (zone) => `Ask your DNS provider to sign ${zone} anew: its signatures have run out.`],
  [
    8,
    (zone) =>
      `Ask your DNS provider to check the clock of its servers and to sign ${zone} anew: its signatures begin in the future.`,
  ],
  [
    10,
    (zone, keeper) =>
      `${zone} has a DS record at ${keeper}, but its records are not signed. Delete the DS record at ${keeper} (switch DNSSEC off there), or switch signing on at your DNS provider.`,
  ],
  [
    12,
    (zone) =>
      `Ask your DNS provider to sign ${zone} anew: its proof that a record is missing (NSEC) is broken.`,
  ],
]);

function repairOf(errors: readonly ExtendedError[]): Repair {
  return repairs.get(bogusCause(errors)?.code ?? -1) ?? replaceDs;
}

function replaceDs(zone: string, keeper: string): string {
  return `The usual cause is a DS record left from a former DNS provider. At ${keeper}, delete the DS record of ${zone} (switch DNSSEC off), or replace it with the one that your DNS provider shows now.`;
}

const MINUTE_MS = 60_000;

/** `14:05 UTC on 2026-11-20`, rounded up to the minute; undefined for what is no time. */
function clockTime(rfc3339: string): string | undefined {
  const time = Math.ceil(Date.parse(rfc3339) / MINUTE_MS) * MINUTE_MS;
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) return undefined;
  const [date = '', clock = ''] = new Date(time).toISOString().split('T');
  return `${clock.slice(0, 5)} UTC on ${date}`;
}
