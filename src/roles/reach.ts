/** Puts together what asks the addresses of a name, and the authorities, for the doctor. */
import {
  createExamineReach,
  type ExamineReach,
  type ReachReport,
} from '../certificates/reach/reach.ts';
import { reachedAuthorities } from '../certificates/reach/reached-authorities.ts';
import type { Access } from '../core/accounts/access.ts';
import { isPublic } from '../net/destination.ts';
import type { Parts } from './parts.ts';

/** Few ask for it, so it is made when the first one does. Rejects where a file of roots cannot be read. */
export function composeExamineReach(
  parts: Parts,
): (access: Access, hostname: string) => Promise<ReachReport> {
  let examine: ExamineReach | undefined;
  return async (access, hostname) => {
    examine ??= compose(parts);
    return examine(hostname, await parts.certificates.findLimits(access, hostname, parts.now()));
  };
}

function compose({ config: { acme, dns }, probes, observer }: Parts): ExamineReach {
  return createExamineReach({
    probes,
    challenge: acme.challenge,
    ports: { http: acme.httpPort, https: acme.tlsPort },
    lookupAddresses: observer.lookupAddresses,
    isAllowed: (address) => dns.allowPrivate || isPublic(address),
    authorities: reachedAuthorities(acme),
  });
}
