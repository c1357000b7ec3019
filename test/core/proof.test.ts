/** Which TXT records prove whose an apex is. */
import { describe, expect, it } from 'vitest';
import {
  createProofs,
  createTargets,
  deriveSecrets,
  newClaimNonce,
} from '../../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { explain } from '../../src/core/diagnosis/findings.ts';
import type { Answer } from '../../src/core/diagnosis/observation.ts';
import {
  checkProof,
  foreignProofs,
  type ProofSeen,
  proofRecordFor,
} from '../../src/core/names/proof.ts';

const values = {
  claimant: 'signpost-domain-verification=mine',
  holder: 'signpost-domain-verification=theirs',
};
const { claimant, holder } = values;
const none: Answer<string> = { kind: 'nxdomain' };
const txt = (first: string, ...rest: readonly string[]): Answer<string> => ({
  kind: 'records',
  records: [first, ...rest],
  ttlSeconds: 60,
});

describe('the TXT records at an apex that another project holds', () => {
  it.each<[string, readonly Answer<string>[], string, readonly string[]]>([
    ['none at all', [none], 'missing', []],
    ['others at the name only', [{ kind: 'nodata' }], 'missing', []],
    ['the claimant’s', [txt(claimant)], 'proven', [claimant]],
    [
      'the claimant’s, in quotes that a form has kept',
      [txt(` "${claimant}" `)],
      'proven',
      [claimant],
    ],
    [
      'the claimant’s beside others',
      [txt('v=spf1 -all', claimant)],
      'proven',
      [claimant, 'v=spf1 -all'],
    ],
    ['the holder’s', [txt(holder)], 'missing', [holder]],
    ['both', [txt(claimant, holder)], 'both', [claimant, holder]],
    ['both, each at one server', [txt(claimant), txt(holder)], 'both', [claimant, holder]],
    ['garbage', [txt('')], 'missing', ['(empty)']],
    ['the claimant’s cut short', [txt(claimant.slice(0, -1))], 'missing', [claimant.slice(0, -1)]],
    [
      'the claimant’s in other letters',
      [txt(claimant.toUpperCase())],
      'missing',
      [claimant.toUpperCase()],
    ],
    ['the claimant’s at one server of two', [txt(claimant), none], 'partial', [claimant]],
    [
      'the claimant’s, one server silent',
      [txt(claimant), { kind: 'timeout' }],
      'proven',
      [claimant],
    ],
    ['no answer', [{ kind: 'timeout' }], 'unknown', []],
    ['only failures', [{ kind: 'servfail' }, { kind: 'refused' }], 'unknown', []],
    ['nobody to ask', [], 'unknown', []],
  ])('%s: %#', (_title, answers, seen, found) => {
    expect(checkProof(answers, values)).toEqual({ seen, found: [...found].sort() });
  });

  it('are kept as evidence in part only, and printable', () => {
    const many = Array.from({ length: 50 }, (_, i) => `${i}\u202e${'x'.repeat(10_000)}`);
    const { found } = checkProof([txt('a', ...many)], values);
    expect(found).toHaveLength(5);
    expect(JSON.stringify(found).length).toBeLessThan(1_500);
    expect(found.join()).not.toMatch(/\p{C}/u);
  });
});

describe('proofs that are left at an apex', () => {
  const rows: readonly [string, readonly Answer<string>[], readonly string[] | null][] = [
    ['none', [none], []],
    ['the holder’s own', [txt(holder), txt(` "${holder}" `)], []],
    ['another claim’s, at one server', [txt(holder), txt(holder, claimant)], [claimant]],
    ['what is no proof', [txt('v=spf1 -all')], []],
    ['no answer', [{ kind: 'timeout' }, { kind: 'refused' }], null],
  ];
  it.each(rows)('%s', (_title, answers, left) => {
    expect(foreignProofs(answers, holder)).toEqual(left);
  });
});

describe('a name that nobody else has', () => {
  it('is proven by the claim’s own record alone', () => {
    const alone = { claimant, holder: null };
    expect(checkProof([txt(claimant, holder)], alone).seen).toBe('proven');
    expect(checkProof([txt(holder)], alone).seen).toBe('missing');
  });
});

describe('the words for an apex whose addresses prove nothing', () => {
  const record = proofRecordFor({ hostname: 'example.com', value: claimant });
  const proof = { record, seen: 'missing', found: [] } as const;
  it.each([
    ['already_here', 'led here already when it was added'],
    ['held_before', 'for another project'],
    ['lapsed', 'certificate had expired'],
  ] as const)('%s', (reason, why) => {
    const words = explain({ code: 'proof_required', hostname: 'example.com', reason, proof });
    expect(words).toMatchObject({ actor: 'customer', severity: 'blocks' });
    expect(words.summary).toContain(why);
    expect(words.expected).toBe(`TXT _signpost.example.com → ${claimant}`);
    expect(words.action).toContain('create a TXT record with the name “_signpost”');
    expect(words.action).not.toContain('project');
  });
});

describe('the words for a name that another project holds', () => {
  const record = proofRecordFor({ hostname: 'example.com', value: claimant });
  const wordsOf = (seen: ProofSeen, ...found: readonly string[]) => {
    const proof = { record, seen, found };
    return explain({ code: 'held_elsewhere', hostname: 'example.com', proof });
  };

  it.each<[ProofSeen, readonly string[], string, string]>([
    [
      'missing',
      [],
      'There is no TXT record at _signpost.example.com.',
      `name “_signpost” and exactly`,
    ],
    ['missing', ['v=spf1'], 'TXT _signpost.example.com → v=spf1', 'create a TXT record'],
    ['both', [claimant, holder], `→ ${claimant}, ${holder}`, `keep the one with “${claimant}”`],
    ['partial', [claimant], 'Not every name server', 'Usually nothing'],
    ['unknown', [], 'nothing is known to be wrong', 'asked for again by itself'],
    ['proven', [claimant], claimant, 'Nothing: the next check'],
  ])('%s: %j', (seen, found, shown, todo) => {
    const words = wordsOf(seen, ...found);
    expect(words).toMatchObject({ actor: 'customer', severity: 'blocks' });
    expect(words.expected).toBe(`TXT _signpost.example.com → ${claimant}`);
    expect(words.found).toContain(shown);
    expect(words.action).toContain(todo);
  });
});

describe('the record that is asked for', () => {
  const secretsOf = (key: Uint8Array) => deriveSecrets(createVault(key));
  const secrets = secretsOf(new Uint8Array(32));
  const proofFor = createProofs(secrets.proof);

  it.each([
    [undefined, 'example.com', '_signpost'],
    ['a.example.com', 'a.example.com', '_signpost'],
    ['example.com', 'a.example.com', '_signpost.a'],
  ])('stands in the zone %s for %s as %s', (zone, hostname, name) => {
    const fullName = `_signpost.${hostname}`;
    const record = { type: 'TXT', name, fullName, value: 'v' };
    expect(proofRecordFor({ hostname, zone, value: 'v' })).toEqual(record);
  });

  const claim = { projectId: 'p', hostname: 'example.com', claimNonce: 'n' };

  it('has the same value for the same claim, and another one for any other', () => {
    const value = proofFor(claim);
    expect(value).toMatch(/^signpost-domain-verification=[a-z2-7]{32}$/);
    expect(createProofs(secrets.proof)(claim)).toBe(value);
    const others = [
      proofFor({ ...claim, projectId: 'q' }),
      proofFor({ ...claim, hostname: 'example.org' }),
      proofFor({ ...claim, claimNonce: 'm' }),
      proofFor({ ...claim, claimNonce: null }),
      createProofs(secretsOf(new Uint8Array(32).fill(1)).proof)(claim),
    ];
    expect(new Set([value, ...others]).size).toBe(6);
  });

  it('has the value of before for a claim of before there were nonces', () => {
    const value = 'signpost-domain-verification=x7xdzfksroudjzn6brouy37sirnitz4m';
    expect(proofFor({ ...claim, claimNonce: null })).toBe(value);
  });

  it('is made of a nonce that is never given twice', () => {
    const nonces = Array.from({ length: 1_000 }, newClaimNonce);
    expect(new Set(nonces).size).toBe(1_000);
    expect(nonces[0]).toMatch(/^[\w-]{22}$/);
  });

  it('says nothing that the target says', () => {
    const [label = ''] = createTargets(secrets.target, 'edge.test')('p', 'example.com').split('.');
    expect(label).toMatch(/^[a-z2-7]{16}$/);
    expect(proofFor({ ...claim, claimNonce: null })).not.toContain(label);
  });

  it('leaves the targets as they have always been', () => {
    const targetFor = createTargets(secrets.target, 'edge.test');
    expect(targetFor('p', 'example.com')).toBe('rikzkptmjf3fvzta.edge.test');
  });
});
