/** Whether the edge will connect to a deploy, as far as its address shows when it is reported. */
import { isIP } from 'node:net';
import { portOf } from '../core/certificates/reach.ts';
import { beforeDeadline } from './deadline.ts';
import {
  addressesOf,
  createClassify,
  type DestinationKind,
  hostOf,
  type Lookup,
} from './destination.ts';
import type { OwnAddresses, OwnListeners } from './own-addresses.ts';

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
  readonly ownAddresses: OwnAddresses;
  readonly ownListeners: OwnListeners;
};

/** DNS answers change, so a name is only refused where Signpost itself listens. */
const LOOKUP_MS = 2_000;

/** `upstream` must be a URL. Sends only DNS queries. Never rejects. */
export async function checkUpstream(
  { lookup, isNamed, ownAddresses, ownListeners }: UpstreamCheckDeps,
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
  const [addresses, listeners, resolved] = await Promise.all([
    inTime(ownAddresses()),
    inTime(ownListeners()),
    inTime(addressesOf(url, lookup)),
  ]);
  const classify = createClassify({
    addresses: addresses ?? [],
    listeners: listeners ?? [],
    isNamed,
  });
  const port = portOf(url);
  const isAddress = isIP(host) !== 0;
  const verb = isAddress ? 'is at' : 'resolves to';
  const first = (kind: DestinationKind) =>
    resolved?.find(({ address }) => classify(address, port) === kind)?.address;
  const [own, forbidden] = [first('own_port'), first('private')];
  if (own !== undefined) return { kind: 'refused', problem: ownWords(verb, own, port) };
  if (resolved === null) return accepted('lookup_failed', `${host} could not be resolved now.`);
  if (resolved.length === 0) return accepted('no_address', `${host} has no address.`);
  if (forbidden === undefined) return accepted();
  const problem = privateWords(verb, forbidden);
  return isAddress
    ? { kind: 'refused', problem }
    : accepted('private_address', `${host} ${problem}`);
}

function ownWords(verb: string, address: string, port: number): string {
  return `${verb} ${address} port ${port}, where Signpost itself or its storage listens. Report the address and port of the deploy.`;
}

function privateWords(verb: string, address: string): string {
  return `${verb} ${address}, which is not public or belongs to the platform. Visitors would get an error page. The operator can allow it with UPSTREAM_NETWORKS.`;
}

function accepted(code?: UpstreamWarning['code'], message = ''): UpstreamCheck {
  return { kind: 'accepted', warnings: code === undefined ? [] : [{ code, message }] };
}
