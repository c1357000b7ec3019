/**
 * Which ports the deploys of customers may have. The edge stands inside the platform, so an upstream's port is how a
 * customer would have it talk to a database, a broker or a console there: most of these answer whoever is near.
 */

/**
 * Ports from 1024 on that are another service's by convention (IANA's service name registry, or the service's own
 * documentation), and what browsers refuse to go to (the Fetch standard, 2.9). Left out, because web applications have them
 * as often: 3000, 4000, 5000, 7000, 8000, 8080, 8081, 8088, 8443, 8888, 9000; and 32768 to 60999, which Linux
 * gives out itself.
 */
const services: readonly (readonly [service: string, ...ports: readonly number[]])[] = [
  // Databases, caches and search
  ['SQL Server', 1433, 1434],
  ['Oracle Database', 1521, 2483, 2484],
  ['MySQL', 3306],
  ['PostgreSQL', 5432, 5433],
  ['PgBouncer', 6432],
  ['CouchDB', 5984],
  ['Redis', 6379, 6380, 16_379, 26_379],
  ['Neo4j', 7474, 7687],
  ['InfluxDB', 8086],
  ['ClickHouse', 8123, 9009],
  ['Cassandra', 7001, 7199, 9042, 9142, 9160],
  ['Elasticsearch', 9200, 9300],
  ['memcached', 11_211],
  ['MongoDB', 27_017, 27_018, 27_019, 28_017],
  ['RethinkDB', 28_015, 29_015],
  // Brokers and coordination
  ['MQTT', 1883, 8883],
  ['ZooKeeper', 2181, 2888, 3888],
  ['etcd', 2379, 2380],
  ['NATS', 4222, 6222, 8222],
  ['Erlang’s port mapper', 4369],
  ['AMQP', 5671, 5672],
  ['Kafka', 9092, 9093, 9094],
  ['RabbitMQ', 15_671, 15_672, 25_672],
  ['ActiveMQ', 8161, 61_616],
  // Machines, containers and clusters
  ['Java RMI', 1099],
  ['Caddy’s administration', 2019],
  ['NFS', 2049, 4045],
  ['Docker', 2375, 2376, 2377, 7946],
  ['iSCSI', 3260],
  ['Remote Desktop', 3389],
  ['Nomad', 4646, 4647, 4648],
  ['GlassFish’s administration', 4848],
  ['a Java debugger', 5005],
  ['Android’s debugger', 5555],
  ['VNC', 5900, 5901],
  ['WinRM', 5985, 5986],
  ['X11', 6000],
  ['Go’s profiler', 6060],
  ['Spark', 6066, 7077],
  ['Kubernetes', 6443, 10_250, 10_255, 10_256, 10_257, 10_259],
  ['Tomcat’s administration', 8005, 8009],
  ['Vault', 8200, 8201],
  ['Consul', 8300, 8301, 8302, 8500, 8501, 8502, 8600],
  ['Chromium’s debugger', 9222],
  ['Node.js’ debugger', 9229],
  ['Hadoop', 9870],
  ['WildFly’s administration', 9990],
  ['Webmin', 10_000],
  ['Ollama', 11_434],
  // What watches them
  ['Graphite', 2003, 2004, 8125],
  ['OpenTelemetry', 4317, 4318, 9464],
  ['Kibana', 5601],
  ['Prometheus', 9090, 9091, 9100],
  ['Zipkin', 9411],
  ['Jaeger', 14_250, 14_268, 16_686],
  ['Netdata', 19_999],
  // What browsers refuse
  ['H.323', 1719, 1720],
  ['PPTP', 1723],
  ['Apple’s remote access', 3659],
  ['ManageSieve', 4190],
  ['SIP', 5060, 5061],
  ['SANE', 6566],
  ['IRC', 6665, 6666, 6667, 6668, 6669, 6679, 6697],
  ['Amanda', 10_080],
];

/** By port: the service that is known there. */
export const wellKnownPorts: ReadonlyMap<number, string> = new Map(
  services.flatMap(([service, ...ports]) => ports.map((port) => [port, service] as const)),
);

/** Below are the ports of services that machines run themselves (RFC 6335, 6). */
const FIRST_FREE_PORT = 1_024;
const LAST_PORT = 65_535;
const web: readonly number[] = [80, 443];

/**
 * Returns why a deploy may not have a port, in words that complete `upstream`; null where it may. It may have 80, 443 and
 * what is from 1024 on without the ports above; and whatever the operator has opened, UPSTREAM_PORTS.
 */
export function upstreamPortProblem(port: number, opened: readonly number[]): string | null {
  if (web.includes(port) || opened.includes(port)) return null;
  if (!(port >= FIRST_FREE_PORT && port <= LAST_PORT)) {
    return 'must have the port 80 or 443, or one from 1024 on';
  }
  const service = wellKnownPorts.get(port);
  return service === undefined
    ? null
    : `must not have the port ${port}, which is known as ${service}’s`;
}
