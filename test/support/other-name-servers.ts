/** Private copies of Knot, PowerDNS and dnsdist on loopback addresses. */
import type { SocketAddress } from '../../src/config/config.ts';
import {
  type Authority,
  fileOf,
  hasAnswer,
  lines,
  run,
  type ServedZone,
  startAuthority,
} from './name-servers.ts';

/** Starts a Knot with these zones, unchecked. Throws if it is not installed or exits. */
export function startKnot(at: SocketAddress, zones: readonly ServedZone[]): Promise<Authority> {
  const config = [
    'server:',
    '  rundir: "."',
    `  listen: "${at.address}@${at.port}"`,
    'database:',
    '  storage: "."',
    'control:',
    '  listen: "knot.sock"',
    'log:',
    '  - target: stderr',
    '    any: warning',
    'template:',
    '  - id: default',
    '    storage: "."',
    '    zonefile-load: whole',
    '    journal-content: none',
    '    semantic-checks: false',
    'zone:',
    ...zones.flatMap(({ name }) => [`  - domain: "${name}"`, `    file: "${fileOf(name)}"`]),
  ];
  return startAuthority('knotd', ['-c', 'knot.conf'], { 'knot.conf': lines(config) }, at, zones);
}

/** Starts a PowerDNS with these zones, without a cache. Throws if it is not installed or exits. */
export function startPowerDns(at: SocketAddress, zones: readonly ServedZone[]): Promise<Authority> {
  const config = [
    'launch=bind',
    'bind-config=bind.conf',
    `local-address=${at.address}`,
    `local-port=${at.port}`,
    'socket-dir=.',
    'daemon=no',
    'guardian=no',
    'cache-ttl=0',
    'negquery-cache-ttl=0',
    'query-cache-ttl=0',
    'zone-cache-refresh-interval=0',
    'dname-processing=yes',
    'security-poll-suffix=', // otherwise it queries the vendor
  ];
  const served = zones.map(
    ({ name }) => `zone "${name}" { type master; file "${fileOf(name)}"; };`,
  );
  const files = { 'pdns.conf': lines(config), 'bind.conf': lines(served) };
  return startAuthority('pdns_server', ['--config-dir=.'], files, at, zones);
}

/** A query with an OPT record. */
const WITH_EDNS = 'RecordsTypeCountRule(DNSSection.Additional, DNSQType.OPT, 1, 1)';
const UPPER_CASE =
  'LuaRule(function(dq) local name = dq.qname:toString() return name ~= name:lower() end)';

/** What dnsdist does with queries about a zone: a line of its Lua configuration each. */
export const frontRules = {
  /** Truncates every answer over UDP. */
  truncates: (zone: string) => rule(zone, 'TCPRule(false)', 'TCAction()'),
  /** Drops queries over UDP. */
  tcp_only: (zone: string) => rule(zone, 'TCPRule(false)', 'DropAction()'),
  /** Drops queries over TCP. */
  udp_only: (zone: string) => rule(zone, 'TCPRule(true)', 'DropAction()'),
  drops_caa: (zone: string) => rule(zone, 'QTypeRule(257)', 'DropAction()'),
  fails_caa: (zone: string) => rule(zone, 'QTypeRule(257)', 'RCodeAction(DNSRCode.SERVFAIL)'),
  fails_a: (zone: string) => rule(zone, 'QTypeRule(DNSQType.A)', 'RCodeAction(DNSRCode.SERVFAIL)'),
  fails_aaaa: (zone: string) =>
    rule(zone, 'QTypeRule(DNSQType.AAAA)', 'RCodeAction(DNSRCode.SERVFAIL)'),
  refuses: (zone: string) => rule(zone, 'AllRule()', 'RCodeAction(DNSRCode.REFUSED)'),
  fails: (zone: string) => rule(zone, 'AllRule()', 'RCodeAction(DNSRCode.SERVFAIL)'),
  drops: (zone: string) => rule(zone, 'AllRule()', 'DropAction()'),
  not_implemented: (zone: string) => rule(zone, 'AllRule()', 'RCodeAction(DNSRCode.NOTIMP)'),
  /** NXDOMAIN for every name, without an SOA record. */
  denies: (zone: string) => rule(zone, 'AllRule()', 'RCodeAction(DNSRCode.NXDOMAIN, {aa=true})'),
  /** Delays every answer over UDP. */
  slow: (zone: string) => rule(zone, 'AllRule()', 'DelayAction(400)'),
  refuses_caa: (zone: string) => rule(zone, 'QTypeRule(257)', 'RCodeAction(DNSRCode.REFUSED)'),
  not_implemented_caa: (zone: string) =>
    rule(zone, 'QTypeRule(257)', 'RCodeAction(DNSRCode.NOTIMP)'),
  truncates_caa: (zone: string) =>
    rule(zone, 'AndRule({QTypeRule(257), TCPRule(false)})', 'TCAction()'),
  drops_aaaa: (zone: string) => rule(zone, 'QTypeRule(DNSQType.AAAA)', 'DropAction()'),
  denies_aaaa: (zone: string) =>
    rule(zone, 'QTypeRule(DNSQType.AAAA)', 'RCodeAction(DNSRCode.NXDOMAIN, {aa=true})'),
  /** Queries with EDNS (RFC 6891). */
  drops_edns: (zone: string) => rule(zone, WITH_EDNS, 'DropAction()'),
  no_edns: (zone: string) => rule(zone, WITH_EDNS, 'RCodeAction(DNSRCode.FORMERR)'),
  fails_edns: (zone: string) => rule(zone, WITH_EDNS, 'RCodeAction(DNSRCode.SERVFAIL)'),
  denies_edns: (zone: string) => rule(zone, WITH_EDNS, 'RCodeAction(DNSRCode.NXDOMAIN, {aa=true})'),
  /** Queries whose name has a letter in upper case. */
  drops_upper_case: (zone: string) => rule(zone, UPPER_CASE, 'DropAction()'),
  fails_upper_case: (zone: string) => rule(zone, UPPER_CASE, 'RCodeAction(DNSRCode.SERVFAIL)'),
  refuses_upper_case: (zone: string) => rule(zone, UPPER_CASE, 'RCodeAction(DNSRCode.REFUSED)'),
  denies_upper_case: (zone: string) =>
    rule(zone, UPPER_CASE, 'RCodeAction(DNSRCode.NXDOMAIN, {aa=true})'),
} as const;

export type FrontRule = keyof typeof frontRules;

/**
 * Starts a dnsdist in front of another server. `probe`: a zone of that server without a rule. Throws if
 * it is not installed or exits.
 */
export async function startDnsdist(options: {
  readonly at: SocketAddress;
  readonly behind: SocketAddress;
  readonly probe: string;
  readonly rules: readonly string[];
}): Promise<{ readonly at: SocketAddress; readonly close: () => Promise<void> }> {
  const { at, behind, probe, rules } = options;
  const config = [
    `setLocal("${at.address}:${at.port}")`,
    'setACL("127.0.0.0/8")',
    'setSecurityPollSuffix("")', // otherwise it queries the vendor
    `newServer({address="${behind.address}:${behind.port}"}):setUp()`,
    ...rules,
  ];
  const files = { 'dnsdist.conf': lines(config) };
  const running = await run('dnsdist', ['-C', 'dnsdist.conf', '--supervised'], files);
  await running.until(() => hasAnswer(at, probe, 'SOA', ({ answers }) => answers.length > 0));
  return { at, close: running.close };
}

function rule(zone: string, which: string, action: string): string {
  return `addAction(AndRule({makeRule("${zone}."), ${which}}), ${action})`;
}
