/** Random observations: the list is complete, printable and never contradicts the verdict. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOpen } from '../../../../src/core/diagnosis/changes/change.ts';
import { changesFor } from '../../../../src/core/diagnosis/changes/changes.ts';
import { zoneFile } from '../../../../src/core/diagnosis/changes/zone-file.ts';
import { diagnose } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { FindingCode } from '../../../../src/core/diagnosis/findings.ts';
import type { Observation } from '../../../../src/core/diagnosis/observation.ts';
import { observation } from '../../support/arbitrary-observation.ts';
import { expectedFor, target } from '../../support/observations.ts';
import { hostileSamples } from '../../support/sample-findings.ts';

const runs = { numRuns: 1_500 };

function listFor(seen: Observation) {
  const { hostname } = seen;
  const { findings, verdict } = diagnose(seen, expectedFor(hostname));
  const changes = changesFor({ hostname, target, observation: seen, findings });
  return { findings, verdict, changes };
}

/** Findings that a customer solves by editing records. */
const aboutRecords: ReadonlySet<FindingCode> = new Set([
  'record_missing',
  'cname_mismatch',
  'conflicting_a',
  'conflicting_aaaa',
  'cname_at_apex',
  'apex_mixed',
  'apex_elsewhere',
  'name_servers_disagree',
]);

it('a wrong record always has a change to make', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { findings, changes } = listFor(seen);
      if (findings.some(({ code }) => aboutRecords.has(code))) {
        expect(changes.some(isOpen)).toBe(true);
      }
    }),
    runs,
  );
});

it('a right record is kept, and nothing stands in its way', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { verdict, findings, changes } = listFor(seen);
      if (verdict !== 'right') return;
      const others = findings.some(({ code }) =>
        ['https_record_mismatch', 'mail_at_name', 'proxied'].includes(code),
      );
      if (!others) expect(changes.filter(isOpen)).toEqual([]);
    }),
    runs,
  );
});

it('each change has values that can be shown, and each server stands once', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { changes } = listFor(seen);
      expect(changes).not.toHaveLength(0);
      for (const { value, was, name, note, servers, verb } of changes) {
        for (const text of [value, was ?? '', name, note ?? '', ...servers.map((s) => s.shows)]) {
          expect(text).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        }
        expect(new Set(servers.map((one) => one.name)).size).toBe(servers.length);
        expect(was !== undefined).toBe(verb === 'change' && was !== undefined);
      }
      const { hostname } = seen;
      const text = zoneFile({ zone: 'example.com', hostname, changes });
      expect(text.split('\n').length).toBeLessThan(2 * changes.length + 4);
    }),
    runs,
  );
});

it('hostile evidence stays within its line', () => {
  const findings = Object.values(hostileSamples);
  const changes = changesFor({ hostname: 'docs.example.com', target, observation: null, findings });
  const text = zoneFile({
    zone: 'example.com',
    hostname: 'docs.example.com',
    changes,
  });
  for (const line of text.split('\n')) expect(line).toMatch(/^(;|\$ORIGIN|[@\w.-]+ \d+ IN |$)/);
  expect(JSON.stringify(changes)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
});
