import { z } from 'zod';
import { count, flag, listenAddress, port, urlSecret } from './values.ts';

export type EdgeConfig = {
  /** Where Caddy reaches the edge, and its secret. Missing: Signpost has the ports. */
  readonly caddy:
    | { readonly address: string; readonly port: number; readonly secret: string }
    | undefined;
  /** Ports of Signpost's edge, or of Caddy. */
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Where visitors reach the edge. Missing: `httpsPort` in redirects; for checks 443, or `httpsPort` on embedded storage. */
  readonly publicHttpsPort: number | undefined;
  /** Whether workers connect to the edge's public addresses. */
  readonly isProbed: boolean;
  /** Per IPv4 address or IPv6 /64. Behind Caddy: concurrent requests. */
  readonly connectionsPerAddress: number;
  /** New TLS handshakes, per process. */
  readonly handshakesPerSecond: number;
  /** Per second, for one IPv4 address or IPv6 /64. */
  readonly handshakesPerAddress: number;
  /** Concurrent requests to deploys, per process. */
  readonly requests: number;
  readonly requestsPerProject: number;
};

const GATEWAY = '127.0.0.1:9180';

/** Each validated on its own. `edgeRules` checks combinations. */
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

/** `given`: variables that are set and not empty. */
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
