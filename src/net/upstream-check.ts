/** Whether the edge will connect to a deploy, as far as its address shows when it is reported. */
import { isIP } from 'node:net';
import { beforeDeadline } from './deadline.ts';
import { addressesOf, hostOf, isPublic, type Lookup } from './destination.ts';

/** What visitors would meet. `message` tells what to do. */
export type UpstreamWarning = {
  readonly code: 'private_address' | 'no_address' | 'lookup_failed';
  readonly message: string;
};

/** `refused`: every visitor would get an error page. The problem is worded to follow a field's name. */
export type UpstreamCheck =
  | { readonly kind: 'refused'; readonly problem: string }
  | { readonly kind: 'accepted'; readonly warnings: readonly UpstreamWarning[] };

export type UpstreamCheckDeps = {
  readonly lookup: Lookup;
  /** Whether `UPSTREAM_NETWORKS` has it. */
  isNamed(address: string): boolean;
  /** The platform's own addresses and those of its storage. */
  ownAddresses(): Promise<readonly string[]>;
};

/** DNS answers change, so a name is never refused. */
const LOOKUP_MS = 2_000;

/** `upstream` must be a URL. Sends only DNS queries. Never rejects. */
export async function checkUpstream(
  { lookup, isNamed, ownAddresses }: UpstreamCheckDeps,
  upstream: string,
): Promise<UpstreamCheck> {
  const url = new URL(upstream);
  const host = hostOf(url);
  const inTime = <T>(found: Promise<T>) =>
    beforeDeadline(
      LOOKUP_MS,
      found.catch(() => null),
      null,
    );
  const isAddress = isIP(host) !== 0;
  const [own, found] = await Promise.all([
    inTime(ownAddresses()),
    isAddress ? [] : inTime(addressesOf(url, lookup)),
  ]);
  const isAllowed = (address: string) =>
    isNamed(address) || (isPublic(address) && !own?.includes(address));
  if (isAddress) {
    return isAllowed(host) ? accepted() : { kind: 'refused', problem: privateWords(host) };
  }
  if (found === null) return accepted('lookup_failed', `${host} could not be resolved now.`);
  if (found.length === 0) return accepted('no_address', `${host} has no address.`);
  const refused = found.find(({ address }) => !isAllowed(address));
  if (refused === undefined) return accepted();
  return accepted('private_address', `${host} ${privateWords(refused.address, 'resolves to')}`);
}

function privateWords(address: string, verb = 'is at'): string {
  return `${verb} ${address}, which is not public or belongs to the platform. Visitors would get an error page. The operator can allow it with UPSTREAM_NETWORKS.`;
}

function accepted(code?: UpstreamWarning['code'], message = ''): UpstreamCheck {
  return { kind: 'accepted', warnings: code === undefined ? [] : [{ code, message }] };
}
