import { describe, expect, it, test } from 'vitest';
import { changesFor } from '../../../../src/core/diagnosis/changes/changes.ts';
import type { FindingOf } from '../../../../src/core/diagnosis/findings.ts';
import type { CaaRecord, ServerView } from '../../../../src/core/diagnosis/observation.ts';
import { type ProofSeen, proofRecordFor } from '../../../../src/core/names/proof.ts';
import { nodata, observed, records, server, target } from '../../support/observations.ts';
import { changesAt, DOCS, godaddy, inShort } from './support.ts';

const right: ServerView = server({ cname: records(target) });
const issue = (value: string, flags = 0): CaaRecord => ({ flags, tag: 'issue', value });

function caaAt(name: string, first: CaaRecord, ...others: CaaRecord[]) {
  return {
    caa: [
      { name: DOCS, answer: nodata },
      { name, answer: records(first, ...others) },
    ],
  };
}

describe('a CAA record', () => {
  test('is added beside those that stay', () => {
    const mail: CaaRecord = { flags: 0, tag: 'iodef', value: 'mailto:it@example.com' };
    const changes = changesAt(DOCS, [right], caaAt('example.com', issue('digicert.com'), mail));
    expect(changes.map(inShort)).toEqual([
      `add CNAME docs ${target}: done (ns1 done)`,
      'keep CAA @ 0 iodef "mailto:it@example.com": done',
      'keep CAA @ 0 issue "digicert.com": done',
      'add CAA @ 0 issue "letsencrypt.org": to_do (ns1 to_do)',
    ]);
    expect(changes.at(-1)).toMatchObject({
      note: 'In three fields: flags 0, tag issue, value letsencrypt.org. Keep the other CAA records.',
      servers: [{ shows: '0 iodef "mailto:it@example.com", 0 issue "digicert.com"' }],
    });
  });

  test('is one text at Amazon Route 53, at an empty name', () => {
    const amazon = ['ns-1.awsdns-00.com', 'ns-1536.awsdns-00.co.uk'];
    const delegation = { ...godaddy.delegation, atParent: amazon, atZone: amazon };
    const changes = changesAt(DOCS, [right], {
      ...caaAt('example.com', issue('digicert.com')),
      delegation: delegation as typeof godaddy.delegation & object,
    });
    expect(changes.at(-1)).toMatchObject({ name: '', note: 'Keep the other CAA records.' });
  });

  test('that forbids everything is deleted, which is enough', () => {
    const critical: CaaRecord = { flags: 128, tag: 'tbs', value: 'Unknown' };
    expect(changesAt(DOCS, [right], caaAt('example.com', critical)).map(inShort)).toEqual([
      `add CNAME docs ${target}: done (ns1 done)`,
      'delete CAA @ 128 tbs "Unknown": to_do (ns1 to_do)',
    ]);
  });

  test('that forbids everything beside one for another CA takes two changes', () => {
    const critical: CaaRecord = { flags: 128, tag: 'tbs', value: 'Unknown' };
    const changes = changesAt(DOCS, [right], caaAt('example.com', critical, issue('digicert.com')));
    expect(changes.slice(1).map(({ verb, value }) => `${verb} ${value}`)).toEqual([
      'keep 0 issue "digicert.com"',
      'delete 128 tbs "Unknown"',
      'add 0 issue "letsencrypt.org"',
    ]);
  });

  test('is not added again where only another record forbids', () => {
    const critical: CaaRecord = { flags: 128, tag: 'tbs', value: 'Unknown' };
    const records = caaAt('example.com', critical, issue('letsencrypt.org'));
    const changes = changesAt(DOCS, [right], records);
    expect(changes.slice(1).map(({ verb, value }) => `${verb} ${value}`)).toEqual([
      'keep 0 issue "letsencrypt.org"',
      'delete 128 tbs "Unknown"',
    ]);
  });

  test('is spreading where some name servers allow our CA', () => {
    const servers = [
      { server: 'ns1.example.com', answer: records(issue('letsencrypt.org')) },
      { server: 'ns2.example.com', answer: records(issue('digicert.com')) },
    ];
    const level = { name: DOCS, answer: records(issue('letsencrypt.org')), servers };
    const apexLevel = { ...level, name: 'example.com' };
    const changes = changesAt(DOCS, [right], { caa: [{ name: DOCS, answer: nodata }, apexLevel] });
    expect(changes.map(inShort).at(-1)).toBe(
      'add CAA @ 0 issue "letsencrypt.org": spreading (ns1 done, ns2 to_do)',
    );
  });

  test('of our target is not the customer’s', () => {
    const caa = [{ name: DOCS, publishedAt: target, answer: records(issue('digicert.com')) }];
    expect(changesAt(DOCS, [right], { caa }).map(inShort)).toEqual([
      `keep CNAME docs ${target}: done (ns1 done)`,
    ]);
  });

  test('at a name in another zone has its full name, and no name servers of this zone', () => {
    const level = {
      name: 'example.com',
      publishedAt: 'caa.example.net',
      answer: records(issue('digicert.com')),
    };
    const changes = changesAt(DOCS, [right], { caa: [{ name: DOCS, answer: nodata }, level] });
    expect(changes.at(-1)).toMatchObject({ name: 'caa.example.net.', servers: [] });
  });
});

describe('a name that another project has', () => {
  const proof = (seen: ProofSeen, found: readonly string[]): FindingOf<'held_elsewhere'> => {
    const value = 'signpost-domain-verification=mine';
    const record = proofRecordFor({ hostname: DOCS, value });
    return { code: 'held_elsewhere', hostname: DOCS, proof: { record, seen, found } };
  };
  const other = 'signpost-domain-verification=theirs';
  const add = 'add TXT _signpost.docs signpost-domain-verification=mine';
  const rows: readonly (readonly [ProofSeen, readonly string[], readonly string[]])[] = [
    ['missing', ['other=text'], [`${add}: to_do`]],
    ['unknown', [], [`${add}: unknown`]],
    ['partial', [], [`${add}: spreading`]],
    ['both', [other], [`delete TXT _signpost.docs ${other}: to_do`, `${add}: done`]],
  ];
  it.each(rows)('%s: gets the text that proves whose it is', (seen, found, expected) => {
    const observation = observed(DOCS, [right]);
    const findings = [proof(seen, found)];
    const changes = changesFor({ hostname: DOCS, target, observation, findings });
    expect(changes.slice(1).map(inShort)).toEqual(expected);
  });

  it('has nothing to do once the text is there', () => {
    const observation = observed(DOCS, [right]);
    const findings = [proof('proven', [])];
    const changes = changesFor({ hostname: DOCS, target, observation, findings });
    expect(changes.map(({ verb }) => verb)).toEqual(['keep', 'keep']);
  });
});
