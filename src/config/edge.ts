/** The settings of the edge, and of Caddy where it stands in front. */
import { z } from 'zod';
import { count, flag, listenAddress, port, urlSecret } from './values.ts';

/** Where visitors arrive, and how much of a process they may have. */
export type EdgeConfig = {
  /** Where Caddy asks us for certificates and passes requests on, and the secret by which we know it. Missing: we have the ports. */
  readonly caddy:
    | { readonly address: string; readonly port: number; readonly secret: string }
    | undefined;
  /** Ours, or Caddy's. */
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Where visitors reach the edge, ours or another. Missing: redirects lead to `httpsPort`, and we check 443. */
  readonly publicHttpsPort: number | undefined;
  /** Whether workers ask the edge's public addresses, before an order and for what visitors are shown. */
  readonly isProbed: boolean;
  /** For an IPv4 address or an IPv6 /64; so is the next but one. Behind Caddy they are requests under way. */
  readonly connectionsPerAddress: number;
  /** TLS handshakes that one process begins. */
  readonly handshakesPerSecond: number;
  /** A second. */
  readonly handshakesPerAddress: number;
  /** Under way to deploys at once, of one process. */
  readonly requests: number;
  readonly requestsPerProject: number;
};

const GATEWAY = '127.0.0.1:9180';

/** Its variables, each checked alone; `edgeRules` checks their combination. */
export const edgeVariables = {
  EDGE: z.enum(['own', 'caddy'], 'must be own or caddy').default('own'),
  EDGE_CADDY_ADDRESS: listenAddress.prefault(GATEWAY),
  EDGE_CADDY_SECRET: urlSecret.optional(),
  EDGE_HTTP_PORT: port.default(8080),
  EDGE_HTTPS_PORT: port.default(8443),
  PUBLIC_HTTPS_PORT: port.optional(),
  EDGE_PROBE: flag.default(true),
  EDGE_CONNECTIONS_PER_ADDRESS: count('connections').default(300),
  EDGE_HANDSHAKES_PER_SECOND: count('handshakes').default(1_000),
  EDGE_HANDSHAKES_PER_ADDRESS: count('handshakes a second').default(50),
  EDGE_REQUESTS: count('requests').default(8_000),
  EDGE_REQUESTS_PER_PROJECT: count('requests').default(2_000),
};

/** Returns the settings of variables that passed every rule. */
export function edgeOf(v: z.infer<z.ZodObject<typeof edgeVariables>>): EdgeConfig {
  return {
    caddy:
      v.EDGE === 'caddy' && v.EDGE_CADDY_SECRET !== undefined
        ? { ...v.EDGE_CADDY_ADDRESS, secret: v.EDGE_CADDY_SECRET }
        : undefined,
    httpPort: v.EDGE_HTTP_PORT,
    httpsPort: v.EDGE_HTTPS_PORT,
    publicHttpsPort: v.PUBLIC_HTTPS_PORT,
    isProbed: v.EDGE_PROBE,
    connectionsPerAddress: v.EDGE_CONNECTIONS_PER_ADDRESS,
    handshakesPerSecond: v.EDGE_HANDSHAKES_PER_SECOND,
    handshakesPerAddress: v.EDGE_HANDSHAKES_PER_ADDRESS,
    requests: v.EDGE_REQUESTS,
    requestsPerProject: v.EDGE_REQUESTS_PER_PROJECT,
  };
}

function ownPorts(given: Readonly<Record<string, string>>): readonly string[] {
  return [given['EDGE_HTTP_PORT'] ?? '8080', given['EDGE_HTTPS_PORT'] ?? '8443'];
}

const portOf = (address: string): string => address.slice(address.lastIndexOf(':') + 1);

type Rule = readonly [isWrong: boolean, variable: string, problem: string];

/** Returns every rule about the edge. `given`: the variables that are set and not empty. */
export function edgeRules(given: Readonly<Record<string, string>>): readonly Rule[] {
  const isExternal = given['CERTIFICATES'] === 'external';
  const isCaddy = given['EDGE'] === 'caddy';
  return [
    [
      isExternal && isCaddy,
      'EDGE',
      'must not be caddy with CERTIFICATES=external, where another edge obtains the certificates',
    ],
    [
      isCaddy && given['EDGE_CADDY_SECRET'] === undefined,
      'EDGE_CADDY_SECRET',
      'is required with EDGE=caddy (openssl rand -hex 32), the same here and for Caddy',
    ],
    [
      isCaddy && ownPorts(given).includes(portOf(given['EDGE_CADDY_ADDRESS'] ?? GATEWAY)),
      'EDGE_CADDY_ADDRESS',
      'must differ from EDGE_HTTP_PORT and EDGE_HTTPS_PORT, which Caddy uses',
    ],
    [
      isCaddy && given['ACME_CHALLENGE'] === 'tls-alpn-01',
      'ACME_CHALLENGE',
      'must be http-01 with EDGE=caddy: Caddy answers tls-alpn-01 only for its own orders',
    ],
  ];
}
