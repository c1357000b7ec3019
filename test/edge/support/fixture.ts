/** A real edge over an in-memory store, with certificates of the local CA and test visitors. */
import { EventEmitter, once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type RequestListener,
} from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { createLocalAuthority } from '../../../src/certificates/authorities/local.ts';
import type { EdgeCertificate } from '../../../src/certificates/served/proof-certificate.ts';
import { createSigningKeys } from '../../../src/certificates/vault/derived-secrets.ts';
import {
  generatePrivateKey,
  privateKeyToPem,
  sealOf,
} from '../../../src/certificates/vault/keys.ts';
import type { EdgeRoute } from '../../../src/core/operations/edge-route.ts';
import { caddyfile } from '../../../src/edge/caddy/caddyfile.ts';
import { createEdge, type EdgePorts, type EdgeRules } from '../../../src/edge/edge.ts';
import { type EdgeLimits, edgeLimits } from '../../../src/edge/limits.ts';
import type { UpstreamReach } from '../../../src/edge/proxy/upstream.ts';
import { uncounted } from '../../../src/ops/metrics/traffic.ts';
import type { Service } from '../../../src/service/service.ts';
import { type Caddy, runCaddy } from '../../support/caddy.ts';
import { defaultConfig, plainService, testVault } from '../../support/plain-service.ts';
import { lacks } from '../../support/programs.ts';
import { freePort } from '../../support/servers.ts';

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type Visit = {
  readonly hostname: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** For HTTPS, when the SNI name differs. */
  readonly servername?: string;
  readonly agent?: Agent;
  readonly localAddress?: string;
};

/** Skips name resolution and allows every address. */
export const everywhere: UpstreamReach = {
  lookup: async (name) => {
    throw new Error(`${name} was looked up`);
  },
  decide: async () => () => 'allowed',
};

/** All visitors of a test share one address. */
export const anybody: EdgeRules['visitors'] = {
  connections: 20_000,
  connectionsPerAddress: 10_000,
  handshakesPerSecond: 100_000,
  handshakesPerSecondAndAddress: 100_000,
  isTrusted: () => false,
};
/** A route with default settings and no certificate. */
export const bare: Omit<EdgeRoute, 'hostname' | 'upstream'> = {
  projectId: 'acme',
  certificateId: null,
  redirect: null,
  primary: null,
  signing: { generation: 1, oldEndsAt: null },
  hsts: null,
  upstreamCaId: null,
};
export const signingKey = createSigningKeys(new Uint8Array(32));
export const unlimited: EdgeRules['requests'] = { total: 100_000, perKey: 100_000 };

/** Which server has the ports. */
export type Front = 'own' | 'caddy';
/** Every attack runs against both. */
export const fronts: readonly Front[] = lacks('caddy', 'Caddy in front of the edge')
  ? ['own']
  : ['own', 'caddy'];
export type FixtureOptions = {
  readonly reach?: UpstreamReach;
  readonly visitors?: EdgeRules['visitors'];
  readonly requests?: EdgeRules['requests'];
  readonly publicHttpsPort?: number;
  readonly front?: Front;
  readonly clock?: () => Date;
  readonly answerProbe?: Service['lookups']['answerProbe'];
};
/** All edges are one installation. */
const ticketSecret = new Uint8Array(32);

export type EdgeFixture = Awaited<ReturnType<typeof startEdgeFixture>>;

/**
 * Unless `limits` says otherwise, cached routes expire at once, so changes in `routes` apply
 * immediately.
 */
export async function startEdgeFixture(
  limits: Partial<EdgeLimits> = {},
  {
    reach = everywhere,
    visitors = anybody,
    requests = unlimited,
    publicHttpsPort,
    front = 'own',
    clock = () => new Date(),
    answerProbe = () => null,
  }: FixtureOptions = {},
) {
  // Caddy is in front: its ports have to be known before the edge starts.
  const caddyPorts = { httpPort: await freePort(), httpsPort: await freePort() };
  const routes = new Map<string, EdgeRoute>();
  /** `answers`: every route query waits for it. */
  const database = { isUp: true, answers: Promise.resolve() };
  const lookups = new EventEmitter();
  const warnings: unknown[] = [];
  const refusals: string[] = [];
  const challenges = new Map<string, string>();
  const tlsChallenges = new Map<string, string>();
  const certificates = new Map<string, EdgeCertificate>();
  const upstreamCas = new Map<string, string>();
  const authority = createLocalAuthority({
    loadRoot: async () => null,
    keepRoot: async (root) => root,
    isHeld: async (hostname) => routes.has(hostname),
    now: () => new Date(),
  });
  const query = async () => {
    if (!database.isUp) throw new Error('the database is gone');
  };
  const { acme, edge: ofEdge } = defaultConfig;
  const caddyAt = { address: '127.0.0.1', port: 0, secret: SECRET };
  const service = plainService({
    config: {
      ...defaultConfig,
      acme: { ...acme, challenge: 'tls-alpn-01' },
      edge: { ...ofEdge, ...(front === 'caddy' && { caddy: caddyAt }) },
    },
    database: { openPool: () => ({ query }) as never },
    lookups: {
      answerProbe,
      async findChallenge(token, hostname) {
        await query();
        return challenges.get(`${hostname}/${token}`) ?? null;
      },
      findProof: async (hostname, probeToken) =>
        probeToken === null ? (tlsChallenges.get(hostname) ?? null) : null,
      async findRoute(hostname) {
        lookups.emit('route', hostname);
        await database.answers;
        await query();
        return routes.get(hostname) ?? null;
      },
      async loadCertificate(id) {
        const { chain, key } = certificates.get(id) ?? { chain: null, key: '' };
        const sealedKey = testVault.seal(Buffer.from(key), sealOf(id));
        return chain === null ? null : { chain, sealedKey };
      },
      listNames: async (max) => [...routes.keys()].slice(0, max),
      loadUpstreamCa: async (deployId) => upstreamCas.get(deployId) ?? null,
    },
    log: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) }),
    metrics: { edge: { ...uncounted, refused: (limit) => void refusals.push(limit) } },
    now: clock,
    ownAddresses: async () => [],
    ownListeners: async () => [],
    secrets: { tickets: ticketSecret },
    signingKey,
    vault: {
      open(sealedKey, purpose) {
        lookups.emit('certificate', purpose.replace(sealOf(''), ''));
        return testVault.open(sealedKey, purpose);
      },
    },
  });
  const edge = createEdge(service, {
    reach,
    visitors,
    requests,
    limits: { ...edgeLimits, routeFreshMs: 0, ...limits },
  });
  const own = { httpPort: 0, httpsPort: 0 };
  const ports = await edge.listen({
    host: '127.0.0.1',
    publicHttpsPort,
    ...(front === 'caddy' ? caddyPorts : own),
  });
  const caddy =
    front === 'caddy'
      ? await startFrontCaddy({ ...ports, publicHttpsPort }, { ...edgeLimits, ...limits })
      : null;
  const root = await authority.rootCertificate();

  /** Adds a verified domain with a certificate. */
  async function publish(
    hostname: string,
    upstream: string | null,
    more: Partial<EdgeRoute> = {},
  ): Promise<void> {
    routes.set(hostname, { ...bare, hostname, upstream, certificateId: hostname, ...more });
    const privateKey = generatePrivateKey();
    const none = async () => {};
    const steps = { beforePlacing: none, orderPlaced: none, publishChallenge: none };
    const issued = await authority.advance({ hostname, orderUrl: null, privateKey }, steps);
    if (issued.kind !== 'issued') throw new Error('refused');
    certificates.set(hostname, { chain: issued.chain, key: privateKeyToPem(privateKey) });
  }

  const optionsFor = ({ hostname, path = '/', method = 'GET', headers = {} }: Visit) => ({
    host: '127.0.0.1',
    path,
    method,
    headers: { host: hostname, ...headers },
  });
  const openHttps = (visit: Visit) =>
    httpsRequest({
      ...optionsFor(visit),
      port: ports.httpsPort,
      servername: visit.servername ?? visit.hostname,
      ca: root,
      agent: visit.agent ?? false,
      ...(visit.localAddress !== undefined && { localAddress: visit.localAddress }),
    });
  const openHttp = (visit: Visit) =>
    httpRequest({ ...optionsFor(visit), port: ports.httpPort, agent: false });

  return {
    edge,
    ports,
    root,
    database,
    /** Emits `route` with the name for each query, and `certificate` with the id of each built one. */
    lookups,
    routes,
    challenges,
    /** Key authorizations by name. */
    tlsChallenges,
    certificates,
    /** Upstream CA certificates in PEM by deploy id. */
    upstreamCas,
    /** The edge's log from `warn` up. */
    warnings,
    /** The limit of each rejection. */
    refusals,
    publish,
    openHttps,
    https: (visit: Visit, body?: string) => replyTo(openHttps(visit), body),
    http: (visit: Visit) => replyTo(openHttp(visit)),
    /** Null if visitors reach the edge directly. */
    caddy,
    async close() {
      await caddy?.close();
      await edge.close(0);
    },
  };
}

/** Sends a request and reads the whole response. */
export async function replyTo(
  request: ReturnType<typeof httpRequest>,
  body?: string,
): Promise<Reply> {
  request.end(body);
  const [response] = await once(request, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** A deploy on a free port. */
export async function startDeploy(listener: RequestListener) {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy(); // upgraded ones, too
      await closed;
    },
  };
}

/** Authenticates Caddy to the edge. */
const SECRET = 'the-secret-of-caddy-and-this-edge';

/** A Caddy configured by `signpost edge caddyfile`. */
function startFrontCaddy(
  { gatewayPort = 0, ...ports }: EdgePorts & { readonly publicHttpsPort: number | undefined },
  limits: EdgeLimits,
): Promise<Caddy> {
  const caddy = { address: '127.0.0.1', port: gatewayPort };
  const text = caddyfile(
    { http: { host: '127.0.0.1' }, api: { trustedProxies: [] }, edge: { ...ports, caddy } },
    limits,
  );
  return runCaddy(() => text, { EDGE_CADDY_SECRET: SECRET });
}
