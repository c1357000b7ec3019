/** Addresses of reverse proxies that replace and hide a customer's record. */
import ipaddr from 'ipaddr.js';
import {
  addressesInTheWay,
  type DiagnosisInput,
  type ServersView,
  unique,
  zoneServers,
} from './input.ts';
import { type Observation, type ProxyAnswer, recordsOf } from './observation.ts';
import { ownAddresses } from './server-pointing.ts';

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

/** Resolvers do not show who operates the zone. A challenge that reaches us through the proxy does. */
export function isProxiedHere(input: DiagnosisInput): boolean {
  const { observation } = input;
  const passage = observation.view === 'recursive' ? passageOf(observation.proxy) : undefined;
  const isOurs = passage === 'passes' || passage === 'unknown' || passage === 'unseen';
  return (isOurs || isOfProvider(observation)) && proxyInTheWay(input) !== undefined;
}

/**
 * The addresses of a proxy that is operated by the zone's provider, or can be if only resolvers were
 * queried; empty if the name shows anything else, or if the platform is behind the same proxy.
 */
export function proxiedAddresses(observation: ProxiedView): readonly string[] {
  const views = observation.servers.filter(({ state }) => state === 'answers');
  if (views.some(({ cname }) => cname.kind === 'records')) return [];
  const addresses = unique(views.flatMap(({ a, aaaa }) => [...recordsOf(a), ...recordsOf(aaaa)]));
  if (proxyOf(addresses) === null) return [];
  const mayBeOwn = observation.view === 'recursive' || isOfProvider(observation);
  const isOwn = ownAddresses(observation.targetAddresses);
  return mayBeOwn && !addresses.some(isOwn) ? addresses : [];
}

type ProxiedView = ServersView & Pick<Observation, 'targetAddresses'>;

function isOfProvider(observation: ServersView): boolean {
  const { delegation } = observation;
  const lists =
    delegation?.kind === 'delegated'
      ? [delegation.atParent, delegation.atZone ?? []]
      : [zoneServers(observation)];
  return lists.some(areCloudflareServers);
}

/**
 * What a proxy does with a challenge. `unknown`: it did not answer, or could not connect to us.
 * `redirect`: to where no CA follows. `no_certificate`: it connects to us over HTTPS, which fails before
 * we have a certificate. `firewall`: a rule probably stops it. `no_origin`: the proxy cannot resolve the
 * value of its record. `elsewhere`: another server answers. `unseen`: only the service can tell.
 */
export type ProxyPassage =
  | 'passes'
  | 'unknown'
  | 'redirect'
  | 'no_certificate'
  | 'firewall'
  | 'no_origin'
  | 'elsewhere'
  | 'unseen';

/** The most telling of all addresses. Undefined if none was queried. */
export function passageOf(answers: readonly ProxyAnswer[] = []): ProxyPassage | undefined {
  const found = answers.map(passageAt);
  return telling.find((passage) => found.includes(passage));
}

/** One address that stops challenges is enough for a CA to fail. */
const telling = [
  'redirect',
  'no_certificate',
  'firewall',
  'no_origin',
  'elsewhere',
  'unseen',
  'unknown',
  'passes',
] as const satisfies readonly ProxyPassage[];

/** Cloudflare's: developers.cloudflare.com/support/troubleshooting/http-status-codes. */
function passageAt({ result, status }: ProxyAnswer): ProxyPassage {
  if (result === 'edge') return 'passes';
  if (result === 'redirect' || result === 'unseen') return result;
  if (result === 'none' || status === null) return 'unknown';
  if (status === 525 || status === 526) return 'no_certificate';
  // Error 1016: Origin DNS error.
  if (status === 530) return 'no_origin';
  if (status === 401 || status === 403) return 'firewall';
  // Its own failure or ours, usually temporary.
  return status === 429 || status >= 500 ? 'unknown' : 'elsewhere';
}
