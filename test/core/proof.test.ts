/** Which TXT records prove the ownership of an apex. */
import { describe, expect, it } from 'vitest';
import {
  createProofs,
  createTargets,
  deriveSecrets,
} from '../../src/certificates/vault/derived-secrets.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { explain } from '../../src/core/diagnosis/findings.ts';
import type { DnsAnswer } from '../../src/core/diagnosis/observation.ts';
import { checkProof, type ProofSeen, proofRecordFor } from '../../src/core/names/proof.ts';

const claimant = 'signpost-domain-verification=mine';
const holder = 'signpost-domain-verification=theirs';
const values = { claimant, others: ['signpost-domain-verification=a third', holder] };
const none: DnsAnswer<string> = { kind: 'nxdomain' };
const txt = (first: string, ...rest: readonly string[]): DnsAnswer<string> => ({
  kind: 'records',
  records: [first, ...rest],
  ttlSeconds: 60,
});

describe('the TXT records at an apex that another project holds', () => {
  it.each<[string, readonly DnsAnswer<string>[], string, readonly string[]]>([
    ['none', [none], 'missing', []],
    ['only unrelated ones at the name', [{ kind: 'nodata' }], 'missing', []],
    ['the claimant’s', [txt(claimant)], 'proven', [claimant]],
    [
      'the claimant’s, with quotes that a form has kept',
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
    ['the claimant’s, truncated', [txt(claimant.slice(0, -1))], 'missing', [claimant.slice(0, -1)]],
    [
      'the claimant’s in another case',
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
    ['no server to query', [], 'unknown', []],
  ])('%s: %#', (_title, answers, seen, found) => {
    expect(checkProof(answers, values)).toEqual({ seen, found: [...found].sort() });
  });

  it('are stored as evidence only in part, and printable', () => {
    const many = Array.from({ length: 50 }, (_, i) => `${i}\u202e${'x'.repeat(10_000)}`);
    const { found } = checkProof([txt('a', ...many)], values);
    expect(found).toHaveLength(5);
    expect(JSON.stringify(found).length).toBeLessThan(1_500);
    expect(found.join()).not.toMatch(/\p{C}/u);
  });
});

describe('the texts for a name that another project holds', () => {
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
    ['partial', [claimant], 'Not every name server', 'No action needed in most cases'],
    ['unknown', [], 'No name server answered whether', 'We check again automatically'],
    ['proven', [claimant], claimant, 'Nothing to do: the next check'],
  ])('%s: %j', (seen, found, shown, todo) => {
    const words = wordsOf(seen, ...found);
    expect(words).toMatchObject({ actor: 'customer', severity: 'blocks' });
    expect(words.expected).toBe(`TXT _signpost.example.com → ${claimant}`);
    expect(words.found).toContain(shown);
    expect(words.action).toContain(todo);
  });
});

describe('the record to prove ownership', () => {
  const secretsOf = (key: Uint8Array) => deriveSecrets(createVault(key));
  const secrets = secretsOf(new Uint8Array(32));
  const proofFor = createProofs(secrets.proof);

  it.each([
    [undefined, 'example.com', '_signpost'],
    ['a.example.com', 'a.example.com', '_signpost'],
    ['example.com', 'a.example.com', '_signpost.a'],
  ])('is in the zone %s for %s as %s', (zone, hostname, name) => {
    const fullName = `_signpost.${hostname}`;
    const record = { type: 'TXT', name, fullName, value: 'v' };
    expect(proofRecordFor({ hostname, zone, value: 'v' })).toEqual(record);
  });

  it('has a stable value per project and name', () => {
    const value = proofFor('p', 'example.com');
    expect(value).toMatch(/^signpost-domain-verification=[a-z2-7]{32}$/);
    expect(createProofs(secrets.proof)('p', 'example.com')).toBe(value);
    const others = [
      proofFor('q', 'example.com'),
      proofFor('p', 'example.org'),
      createProofs(secretsOf(new Uint8Array(32).fill(1)).proof)('p', 'example.com'),
    ];
    expect(new Set([value, ...others]).size).toBe(4);
  });

  it('is independent of the target', () => {
    const [label = ''] = createTargets(secrets.target, 'edge.test')('p', 'example.com').split('.');
    expect(label).toMatch(/^[a-z2-7]{16}$/);
    expect(proofFor('p', 'example.com')).not.toContain(label);
  });

  it('leaves existing targets unchanged', () => {
    const targetFor = createTargets(secrets.target, 'edge.test');
    expect(targetFor('p', 'example.com')).toBe('rikzkptmjf3fvzta.edge.test');
  });
});
