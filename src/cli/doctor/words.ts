/** What the doctor's page says of name servers, in few words. */
import type { ServerState } from '../../core/diagnosis/observation.ts';

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

/** By RCODE (RFC 1035, 4.1.1; RFC 2136, 2.2). */
const rcodes = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

export function rcodeWord(rcode: number | null): string {
  return rcode === null ? '-' : (rcodes[rcode] ?? `RCODE ${rcode}`);
}
