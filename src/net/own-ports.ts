/** Where the platform itself listens: nothing that a customer chooses may lead there. */
import type { Config } from '../config/config.ts';

/** Where PostgreSQL and Redis listen unless their URL says otherwise. */
const usual: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
};

/**
 * Returns the ports of every role, whichever of them this process plays: the API's, the metrics', the edge's, where Caddy asks
 * us, and the storage's. A port that the system chose (0) is added by whoever has opened it.
 */
export function ownPorts({ http, edge, metrics, storage }: OwnPortsConfig): Set<number> {
  const ports = [
    http.port,
    metrics.port,
    edge.httpPort,
    edge.httpsPort,
    edge.publicHttpsPort,
    edge.caddy?.port,
    ...storagePorts(storage),
  ];
  return new Set(ports.filter((port) => port !== undefined && port !== 0) as number[]);
}

/** What of the configuration says where we listen. */
export type OwnPortsConfig = Pick<Config, 'http' | 'edge' | 'metrics' | 'storage'>;

function storagePorts(storage: Config['storage']): readonly number[] {
  if (storage.kind === 'embedded') return [];
  const urls = [storage.databaseUrl, ...('redisUrl' in storage ? [storage.redisUrl] : [])];
  return urls.flatMap((text) => {
    const { port, protocol, searchParams } = new URL(text);
    // `?port=` in place of the URL's own is libpq's, and node-postgres's, too.
    return Number(searchParams.get('port') ?? port) || (usual[protocol] ?? []);
  });
}
