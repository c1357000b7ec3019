import { describe, expect, it } from 'vitest';
import { upstreamPortProblem, wellKnownPorts } from '../../src/core/operations/upstream-ports.ts';

const problemOf = (port: number, opened: readonly number[] = []) =>
  upstreamPortProblem(port, opened);

describe('The port of a deploy', () => {
  const usual = [
    80, 443, 1024, 1337, 3000, 3001, 4000, 4200, 5000, 5173, 6006, 7000, 8000, 8080, 8081, 8088,
    8443, 8787, 8888, 9000, 9443, 32_768, 49_152, 65_535,
  ];
  it.each(usual)('may be %i', (port) => {
    expect(problemOf(port)).toBeNull();
  });

  const machines = [0, 1, 21, 22, 23, 25, 53, 79, 81, 110, 111, 135, 389, 442, 444, 445, 873, 1023];
  it.each([...machines, 65_536, Number.NaN])('is not %i, which no application has', (port) => {
    expect(problemOf(port)).toBe('must have the port 80 or 443, or one from 1024 on');
  });

  it.each([
    [1433, 'SQL Server'],
    [1521, 'Oracle Database'],
    [2019, 'Caddy’s administration'],
    [2375, 'Docker'],
    [2376, 'Docker'],
    [2379, 'etcd'],
    [2380, 'etcd'],
    [3306, 'MySQL'],
    [5432, 'PostgreSQL'],
    [5672, 'AMQP'],
    [5984, 'CouchDB'],
    [6379, 'Redis'],
    [6432, 'PgBouncer'],
    [6443, 'Kubernetes'],
    [8086, 'InfluxDB'],
    [8200, 'Vault'],
    [8500, 'Consul'],
    [9042, 'Cassandra'],
    [9090, 'Prometheus'],
    [9092, 'Kafka'],
    [9200, 'Elasticsearch'],
    [9229, 'Node.js’ debugger'],
    [9300, 'Elasticsearch'],
    [9464, 'OpenTelemetry'],
    [10_250, 'Kubernetes'],
    [11_211, 'memcached'],
    [15_672, 'RabbitMQ'],
    [27_017, 'MongoDB'],
  ])('is not %i, where %s is', (port, service) => {
    expect(problemOf(port)).toBe(`must not have the port ${port}, which is known as ${service}’s`);
  });

  it('is whatever the operator has opened', () => {
    expect([9090, 81, 9091].map((port) => problemOf(port, [9090, 81]) === null)).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe('The list of well-known ports', () => {
  const ports = [...wellKnownPorts.keys()];

  it('has none that is refused already, and none that Linux gives out itself', () => {
    // net.ipv4.ip_local_port_range
    const strange = ports.filter((port) => port < 1_024 || (port >= 32_768 && port <= 60_999));
    expect(strange).toEqual([]);
  });
});
