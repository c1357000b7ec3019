/** A check without a change of status has separate statements, which must write the same columns. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DiagnosisForAny } from '../../src/core/diagnosis/diagnosis.ts';
import { type DomainState, isServed } from '../../src/core/life/lifecycle.ts';
import { createCheckStore } from '../../src/db/domains/checks.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import {
  aCheckSave,
  anObservation,
  later,
  missing,
  noon,
  right,
  unknown,
} from '../support/builders.ts';
import { databasesOfRun } from '../support/storage.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

const states = {
  pending: { status: 'pending', pendingSince: noon },
  verified: { status: 'verified', verifiedAt: noon },
  live: { status: 'live', missedAt: null },
  missed: { status: 'live', missedAt: noon },
  drifted: { status: 'drifted', driftedAt: noon },
  failed: { status: 'failed', failedAt: noon },
} as const satisfies Readonly<Record<string, DomainState>>;

/** Results that leave the status as it is. */
const stays: readonly (readonly [keyof typeof states, DiagnosisForAny])[] = [
  ['pending', missing],
  ['pending', unknown],
  ['verified', right],
  ['verified', unknown],
  ['live', right],
  ['live', missing],
  ['live', unknown],
  ['missed', right],
  ['missed', missing],
  ['drifted', missing],
  ['drifted', unknown],
  ['failed', missing],
];

describe.each(databasesOfRun().filter(({ available }) => available))(
  'A check that changes no status, on $name,',
  ({ name }) => {
    let stored: StoredDomains;
    beforeAll(async () => {
      stored = await openStoredDomains(name);
    });
    afterAll(() => stored.close());

    /** Every time that a domain of this status has is set: one that a statement forgets stays wrong. */
    async function domainIn(hostname: string, state: DomainState): Promise<LoadedDomain> {
      const { id } = await stored.pending(hostname);
      const time = later(noon, 5);
      const served = isServed(state) && {
        renewAt: time,
        renewalInfoAt: time,
        escalateAt: time,
        certificateEndsAt: later(noon, 90 * 86_400_000),
      };
      const verified = state.status === 'verified' && { escalateAt: later(noon, 1_800_000) };
      const counted = { leases: 2, attempts: 7, lastCheckedAt: noon };
      const times = { nextCheckAt: time, recheckAt: time, ...served, ...verified, ...counted };
      await stored.database.prisma.domain.update({ where: { id }, data: { ...times, ...state } });
      return stored.load(id);
    }

    async function rowOf({ id }: LoadedDomain) {
      const row = await stored.database.prisma.domain.findUniqueOrThrow({ where: { id } });
      const { id: _, hostname, target, projectId, ...same } = row;
      return { ...same, observation: (await stored.load(id)).observation };
    }

    it.each(stays)('stores a %s domain as one that changes it does: %#', async (was, result) => {
      const store = createCheckStore(stored.database);
      const label = `${was}-${result.verdict}`;
      const [one, other] = [
        await domainIn(`one-${label}.shop.test`, states[was]),
        await domainIn(`other-${label}.shop.test`, states[was]),
      ];
      const at = later(noon, 60_000);
      const { verdict, findings } = result;
      const saveOf = (domain: LoadedDomain) =>
        aCheckSave(domain, { verdict, findings }, at, anObservation());
      const [stayed, moved] = [saveOf(one), saveOf(other)];
      expect(stayed.change.kind).toBe('stayed');
      await store.save(stayed);
      await store.save({ ...moved, change: { ...moved.change, kind: 'moved' } });
      expect(await rowOf(one)).toEqual(await rowOf(other));
      expect(await stored.events(one)).toEqual(await stored.events(other));
    });
  },
);
