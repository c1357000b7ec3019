/** Addresses of reverse proxies that replace and hide a customer's record. */
import ipaddr from 'ipaddr.js';
import { addressesInTheWay, type DiagnosisInput, unique, zoneServers } from './input.ts';

/** Published at https://www.cloudflare.com/ips-v4 and /ips-v6. */
const cloudflare = [
  '173.245.48.0/20',
  '103.21.244.0/22',
  '103.22.200.0/22',
  '103.31.4.0/22',
  '141.101.64.0/18',
  '108.162.192.0/18',
  '190.93.240.0/20',
  '188.114.96.0/20',
  '197.234.240.0/22',
  '198.41.128.0/17',
  '162.158.0.0/15',
  '104.16.0.0/13',
  '172.64.0.0/13',
  '131.0.72.0/22',
  '2400:cb00::/32',
  '2606:4700::/32',
  '2803:f800::/32',
  '2405:b500::/32',
  '2405:8100::/32',
  '2a06:98c0::/29',
  '2c0f:f248::/32',
].map((range) => ipaddr.parseCIDR(range));

/** As spelled in findings and providers.ts. */
export const CLOUDFLARE = 'Cloudflare';

/** Null if the list is empty. */
export function proxyOf(addresses: readonly string[]): typeof CLOUDFLARE | null {
  return addresses.length > 0 && addresses.every(isCloudflare) ? CLOUDFLARE : null;
}

/** In zones served elsewhere, the addresses can belong to another Cloudflare customer. */
export function areCloudflareServers(names: readonly string[]): boolean {
  return names.length > 0 && names.every((name) => /\.ns\.cloudflare\.com\.?$/i.test(name));
}

function isCloudflare(address: string): boolean {
  return (
    ipaddr.isValid(address) &&
    ipaddr.subnetMatch(ipaddr.process(address), { cloudflare }, '') === 'cloudflare'
  );
}

/** Sorted. Undefined if any address is ours or is not the proxy's. */
export function proxyInTheWay(
  input: DiagnosisInput,
): { readonly by: typeof CLOUDFLARE; readonly addresses: readonly string[] } | undefined {
  const addresses = unique([...addressesInTheWay(input, 'a'), ...addressesInTheWay(input, 'aaaa')]);
  const by = proxyOf(addresses);
  // The platform can be behind the same proxy. Then these are its own addresses.
  return by === null || addresses.some(input.isOwn) ? undefined : { by, addresses };
}

export function isProxiedHere(input: DiagnosisInput): boolean {
  const { delegation } = input.observation;
  const lists =
    delegation?.kind === 'delegated'
      ? [delegation.atParent, delegation.atZone ?? []]
      : [zoneServers(input.observation)];
  return lists.some(areCloudflareServers) && proxyInTheWay(input) !== undefined;
}
