import { describe, expect, it } from 'vitest';
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { isCovered } from '../../../src/core/watch/coverage.ts';
import { anObservation } from '../../support/builders.ts';

const observation = anObservation();
const covered = (...codes: FindingCode[]) =>
  isCovered(
    observation,
    codes.map((code) => ({ code })),
  );

describe('the watch', () => {
  it.each<FindingCode[][]>([
    [['record_missing']],
    [['cname_mismatch']],
    [['conflicting_a', 'mail_at_name']],
    [['apex_elsewhere', 'name_server_unreachable']],
  ])('sees everything that could end %j', (codes) => {
    expect(covered(...codes)).toBe(true);
  });

  it.each<FindingCode[][]>([
    [['caa_blocks']],
    [['record_missing', 'caa_unknown']],
    [['conflicting_aaaa']],
    [['conflicting_a', 'conflicting_aaaa']],
    [['proof_required']],
    [['held_elsewhere']],
    [['dnssec_bogus']],
    [['domain_unregistered']],
    [['name_servers_disagree']],
    [['dns_unknown']],
    [['mail_at_name']],
    [[]],
  ])('does not see everything that could end %j', (codes) => {
    expect(covered(...codes)).toBe(false);
  });

  it('sees nothing where no server was heard, or resolvers alone were asked', () => {
    const findings = [{ code: 'record_missing' as const }];
    const [server] = observation.servers;
    const silent = { ...server, state: 'timeout' as const, rcode: null };
    expect(isCovered({ ...observation, servers: [silent] }, findings)).toBe(false);
    expect(isCovered({ ...observation, view: 'recursive' }, findings)).toBe(false);
  });
});
