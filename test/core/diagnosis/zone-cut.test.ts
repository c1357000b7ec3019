/** A zone delegated below the registrable domain contains the record; its top is an apex. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { Delegation, Observation } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  nothingNearby,
  nxdomain,
  observed,
  records,
  resolver,
  server,
  target,
} from '../support/observations.ts';

const ZONE = 'team.example.com';
const SUB = 'docs.team.example.com';
const delegation: Delegation = {
  kind: 'delegated',
  zone: ZONE,
  parent: 'example.com',
  atParent: ['ns1.example.com'],
  atZone: ['ns1.example.com'],
  ttlSeconds: 60,
};

function diagnosed(
  hostname: string,
  servers: Observation['servers'],
  rest: Partial<Observation> = {},
) {
  return diagnose(observed(hostname, servers, { delegation, ...rest }), expectedFor(hostname));
}

describe('a zone below the registrable domain', () => {
  it.each([
    ['record_missing', [server({ cname: nxdomain })], 'CNAME docs → '],
    ['cname_mismatch', [server({ cname: records('other.net') })], 'CNAME docs → '],
    ['conflicting_a', [server({ a: records('151.101.1.7') })], 'CNAME docs → '],
    [
      'name_servers_disagree',
      [server({ cname: records(target) }), server({ server: 'ns2' })],
      'CNAME docs → ',
    ],
  ] as const)('gives the record its name: %s', (code, servers, expected) => {
    const [finding] = diagnosed(SUB, [...servers]).findings;
    expect(finding).toMatchObject({ code, zone: ZONE });
    if (finding !== undefined) expect(explain(finding).expected).toContain(expected);
  });

  it('is diagnosed by the addresses at its top, where a CNAME is forbidden', () => {
    const right = server({ a: records('192.0.2.1', '192.0.2.2') });
    expect(diagnosed(ZONE, [right])).toMatchObject({ verdict: 'right', findings: [] });
    const world = [resolver({ a: records('192.0.2.1', '192.0.2.2') })];
    expect(diagnosed(ZONE, [right], { world })).toMatchObject({ verdict: 'right', findings: [] });
    const { findings } = diagnosed(ZONE, [server({ cname: records(target) })]);
    expect(findings).toMatchObject([{ code: 'cname_at_apex', zone: ZONE, found: target }]);
    expect(diagnosed(ZONE, [server()]).findings).toMatchObject([
      { code: 'record_missing', zone: ZONE },
    ]);
  });

  it('is ignored when the registrable domain has the record', () => {
    const own = { ...delegation, zone: 'example.com', parent: 'com' };
    const [finding] = diagnosed(SUB, [server({ cname: nxdomain })], { delegation: own }).findings;
    expect(finding).not.toHaveProperty('zone');
    if (finding !== undefined) expect(explain(finding).expected).toContain('CNAME docs.team → ');
  });

  it('has its own kind of mistakes', () => {
    const relative = `${target}.${ZONE}`;
    expect(diagnosed(SUB, [server({ cname: records(relative) })]).findings).toMatchObject([
      {
        zone: ZONE,
        hints: [
          { code: 'relative_target', found: relative },
          { code: 'separate_zone', zone: ZONE, parent: 'example.com' },
        ],
      },
    ]);
    const doubled = { name: `${SUB}.${ZONE}`, cname: records(target) };
    const nearby = { ...nothingNearby, doubled };
    const [finding] = diagnosed(SUB, [server({ cname: nxdomain })], { nearby }).findings;
    expect(finding).toMatchObject({
      hints: [{ code: 'doubled_name', name: doubled.name }, { code: 'separate_zone' }],
    });
    if (finding !== undefined) expect(explain(finding).hints[0]?.text).toContain('to “docs”');
  });

  it('is delegated by the parent zone, not by a registrar', () => {
    const { findings } = diagnosed(SUB, [server({ cname: records(target) })], {
      delegation: { ...delegation, atZone: ['ns9.example.com'] },
    });
    const [finding] = findings;
    expect(finding).toMatchObject({ code: 'delegation_mismatch' });
    if (finding === undefined) return;
    const { summary, expected, found, action } = explain(finding);
    expect([summary, expected, found, action].join()).toMatch(/DNS provider of example.com/);
    expect([summary, expected, found, action].join()).not.toMatch(/registrar/);
  });
});
