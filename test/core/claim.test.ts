/** What proves an apex: the tables of docs/security.md. */
import { describe, expect, it } from 'vitest';
import {
  type AddressesSeen,
  type Arrival,
  arrivalAfter,
  type ClaimFacts,
  proofNeeded,
} from '../../src/core/names/claim.ts';

describe('how our addresses came to a name', () => {
  const known: readonly (Arrival | null)[] = [
    null,
    'awaited',
    'already_here',
    'held_before',
    'lapsed',
  ];
  const table: { readonly [S in AddressesSeen]: readonly (Arrival | null)[] } = {
    // before:   null            awaited        already_here    held_before    lapsed
    here: ['already_here', 'awaited', 'already_here', 'held_before', 'lapsed'],
    elsewhere: ['awaited', 'awaited', 'already_here', 'held_before', 'lapsed'],
    unknown: [null, 'awaited', 'already_here', 'held_before', 'lapsed'],
    held: ['held_before', 'held_before', 'held_before', 'held_before', 'held_before'],
  };

  it.each(Object.entries(table))('a check that saw %s', (seen, after) => {
    expect(known.map((before) => arrivalAfter(before, seen as AddressesSeen))).toEqual(after);
  });
});

describe('a name that points here needs the TXT record', () => {
  const alone = {
    record: 'ALIAS',
    arrival: 'awaited',
    isContested: false,
    wasAnothers: false,
  } as const satisfies ClaimFacts;

  const rows: readonly [why: string, facts: Partial<ClaimFacts>, reason: string | null][] = [
    ['not where its addresses came after the claim, and nobody else is meant', {}, null],
    ['where it pointed here before the claim', { arrival: 'already_here' }, 'already_here'],
    ['where no check before could tell', { arrival: null }, 'already_here'],
    ['where another account ever held it', { wasAnothers: true }, 'held_before'],
    ['where it stood for another project', { arrival: 'held_before' }, 'held_before'],
    ['where the claim itself let it go', { arrival: 'lapsed' }, 'lapsed'],
    ['where another project has it, too', { isContested: true }, 'contested'],
    [
      'for the quarrel first, whatever else there is',
      { isContested: true, wasAnothers: true, arrival: 'already_here' },
      'contested',
    ],
    [
      'for what the claim saw, before what others had',
      { wasAnothers: true, arrival: 'already_here' },
      'already_here',
    ],
  ];

  it.each(rows)('%s', (_, facts, reason) => {
    expect(proofNeeded({ ...alone, ...facts })).toBe(reason);
  });

  it('never where a CNAME leads to the project’s own target', () => {
    const reasons = rows.map(([, facts]) => proofNeeded({ ...alone, ...facts, record: 'CNAME' }));
    expect(new Set(reasons)).toEqual(new Set([null]));
  });
});
