/** What the doctor's page says of states and codes, in few words. */
import type { Actor, Severity, Unasked } from '../../core/diagnosis/findings.ts';
import type { Verdict } from '../../core/lifecycle.ts';
import type { Answer, ServerState } from '../../core/observation.ts';
import type { Style } from './paint.ts';

/** A sign that tells by its shape what its colour tells, too. */
export type Mark = { readonly sign: string; readonly style: Style };

export const marks: { readonly [V in Verdict]: Mark } = {
  right: { sign: '✓', style: 'green' },
  wrong: { sign: '✗', style: 'red' },
  unknown: { sign: '?', style: 'yellow' },
};

export const severityMarks: { readonly [S in Severity]: Mark } = {
  blocks: { sign: '✗', style: 'red' },
  warns: { sign: '!', style: 'yellow' },
  informs: { sign: 'i', style: 'blue' },
};

export const actorWords: { readonly [A in Actor]: string } = {
  customer: 'the owner of the domain acts',
  dns_provider: 'the DNS provider acts',
  platform: 'the platform acts',
};

export const stateWords: { readonly [S in ServerState]: string } = {
  answers: 'answers',
  refused: 'refuses',
  not_authoritative: 'not its zone',
  servfail: 'fails',
  malformed: 'garbled',
  timeout: 'silent',
  no_address: 'no address',
  reserved_address: 'unreachable',
  not_asked: 'not asked',
};

export const answerWords: { readonly [K in Answer<unknown>['kind']]: string } = {
  records: 'records',
  nodata: 'no such record (NODATA)',
  nxdomain: 'no such name (NXDOMAIN)',
  servfail: 'failed (SERVFAIL)',
  refused: 'declined (REFUSED)',
  timeout: 'no answer in time',
};

/** Beside a server that was not asked. */
export const unaskedWords: { readonly [S in Unasked]: string } = {
  no_address: 'not asked: its name has no address',
  reserved_address: 'not asked: nobody on the internet can reach its address',
  not_asked: 'not asked this time',
};

/** By RCODE (RFC 1035, 4.1.1; RFC 2136, 2.2). */
const rcodes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

export function rcodeWord(rcode: number | null): string {
  return rcode === null ? '-' : (rcodes[rcode] ?? `RCODE ${rcode}`);
}

const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** `300 s` as `5 min`; what is no whole number of a unit stays in the smaller one. */
export function duration(seconds: number): string {
  for (const [size, unit] of units) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return `${seconds} s`;
}

/** `1 question`, `2 questions`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
