/** The alert rules for Prometheus, on the metrics of docs/run/monitoring.md. */
import { queueNames } from './jobs.ts';
import { thresholds } from './thresholds.ts';

type AlertRule = {
  readonly name: string;
  readonly expr: string;
  /** Prometheus's `for`. */
  readonly after?: string;
  /** `critical`: act now. `warning`: act today. */
  readonly severity: 'critical' | 'warning';
  /** A template of Prometheus. */
  readonly summary: string;
};

const { overdueSeconds } = thresholds;

const queuesLateAfter = (seconds: number) =>
  queueNames.filter((queue) => overdueSeconds[queue] === seconds).join('|');
const soon = overdueSeconds['check-dns'];
const later = overdueSeconds['recheck-live'];

/** Metrics of the installation are the same in every API process, so rules use max. */
const processes: readonly AlertRule[] = [
  {
    name: 'SignpostProcessDown',
    expr: 'up{job="signpost"} == 0',
    after: '2m',
    severity: 'critical',
    summary: 'Prometheus cannot scrape {{ $labels.instance }}',
  },
  {
    name: 'SignpostNotReady',
    expr: 'signpost_ready{dependency="process"} == 0',
    after: '2m',
    severity: 'critical',
    summary: '{{ $labels.instance }} is not ready: its log names the dependency',
  },
  {
    name: 'SignpostNoProcess',
    expr: 'max by (role) (signpost_processes) == 0 or absent(signpost_role{role="api"})',
    after: '1m',
    severity: 'critical',
    summary: 'No process with the role {{ $labels.role }} runs',
  },
  {
    name: 'SignpostProcessRefused',
    expr: 'max(signpost_process_mismatches{kind="refused"}) > 0',
    after: '1m',
    severity: 'critical',
    summary:
      'Processes that do not start because their configuration differs: {{ $value }}. signpost fleet list says why',
  },
  {
    name: 'SignpostFleetMismatch',
    expr: 'max(signpost_process_mismatches{kind="differing"}) > 0',
    after: '15m',
    severity: 'warning',
    summary: 'Processes with an older schema or configuration: {{ $value }}',
  },
  {
    name: 'SignpostNoWorker',
    expr: `max(signpost_reconciler_turn_age_seconds) > ${thresholds.turnAgeSeconds}`,
    after: '1m',
    severity: 'critical',
    summary: 'No worker has run for {{ $value | humanizeDuration }}: no domain is processed',
  },
  {
    name: 'SignpostEventLoopSlow',
    expr: `histogram_quantile(0.99, sum by (instance, le) (rate(signpost_event_loop_delay_seconds_bucket[5m]))) > ${thresholds.eventLoopSeconds}`,
    after: '10m',
    severity: 'warning',
    summary:
      '{{ $labels.instance }} is overloaded: its event loop is blocked for {{ $value | humanizeDuration }}',
  },
];

const storage: readonly AlertRule[] = [
  {
    name: 'SignpostStateUnreadable',
    expr: 'min by (source) (signpost_state_readable) == 0',
    after: '5m',
    severity: 'critical',
    summary: 'The {{ $labels.source }} cannot be read, so its metrics are missing',
  },
  {
    name: 'SignpostDatabaseWaits',
    expr: `histogram_quantile(0.99, sum by (instance, le) (rate(signpost_database_pool_wait_seconds_bucket[5m]))) > ${thresholds.poolWaitSeconds}`,
    after: '10m',
    severity: 'warning',
    summary: '{{ $labels.instance }} waits for PostgreSQL connections',
  },
  {
    name: 'SignpostPostgresConnections',
    expr: `max(signpost_postgres_connections{kind="used"}) / max(signpost_postgres_connections{kind="max"}) > ${thresholds.postgresConnectionsShare}`,
    after: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of PostgreSQL’s connections are in use',
  },
  {
    name: 'SignpostRedisMemory',
    expr: `max(signpost_redis_memory_bytes{kind="used"}) / max(signpost_redis_memory_bytes{kind="max"}) > ${thresholds.redisMemoryShare}`,
    after: '5m',
    severity: 'critical',
    summary: 'Redis uses {{ $value | humanizePercentage }} of its memory',
  },
  {
    name: 'SignpostQueuePaused',
    expr: 'max by (queue) (signpost_queue_paused) > 0',
    after: '10m',
    severity: 'critical',
    summary:
      '{{ $labels.queue }} is paused: its jobs do not run until you resume it in /ops/queues',
  },
  {
    name: 'SignpostRepairs',
    expr: 'max by (kind) (increase(signpost_repairs_total[15m])) > 0',
    severity: 'warning',
    summary: 'Repairs ({{ $labels.kind }}): {{ $value | humanize }}. The queue lost jobs.',
  },
];

const work: readonly AlertRule[] = [
  {
    name: 'SignpostChecksLate',
    expr: `max by (queue) (signpost_overdue_seconds{queue=~"${queuesLateAfter(soon)}"}) > ${soon}`,
    after: '5m',
    severity: 'critical',
    summary: '{{ $labels.queue }} is {{ $value | humanizeDuration }} late: customers are waiting',
  },
  {
    name: 'SignpostSweepsLate',
    expr: `max by (queue) (signpost_overdue_seconds{queue=~"${queuesLateAfter(later)}"}) > ${later}`,
    after: '15m',
    severity: 'warning',
    summary: '{{ $labels.queue }} is {{ $value | humanizeDuration }} late',
  },
  {
    name: 'SignpostJobsQuarantined',
    expr: 'max by (queue) (signpost_jobs_quarantined) > 0',
    severity: 'warning',
    summary: 'Quarantined jobs of {{ $labels.queue }}: {{ $value }}',
  },
  {
    name: 'SignpostJobFaults',
    expr: 'sum by (queue) (rate(signpost_jobs_total{outcome="fault"}[10m])) > 0',
    after: '10m',
    severity: 'warning',
    summary: 'Jobs of {{ $labels.queue }} keep failing with internal errors',
  },
  {
    name: 'SignpostChecksUnknown',
    expr: `max by (instance) (signpost_resolvers_failing) == 1 or sum by (instance) (rate(signpost_checks_total{verdict="unknown"}[10m])) / (sum by (instance) (rate(signpost_checks_total[10m])) > 0.02) > ${thresholds.unknownShare}`,
    after: '10m',
    severity: 'critical',
    summary:
      'Most checks of {{ $labels.instance }} are inconclusive: check its resolvers and outgoing port 53',
  },
  {
    name: 'SignpostDnsTimeouts',
    expr: `sum by (operator) (rate(signpost_dns_questions_total{outcome="timeout"}[10m])) / (sum by (operator) (rate(signpost_dns_questions_total[10m])) > 0.1) > ${thresholds.timeoutShare}`,
    after: '15m',
    severity: 'warning',
    summary: 'More than half of the DNS queries to {{ $labels.operator }} time out',
  },
];

const certificates: readonly AlertRule[] = [
  {
    name: 'SignpostEscalationOpen',
    expr: 'max by (cause) (signpost_escalations_open) > 0',
    severity: 'warning',
    summary: 'Open escalations ({{ $labels.cause }}): {{ $value }}',
  },
  {
    name: 'SignpostCertificateEndsSoon',
    expr: 'sum(max by (days_left) (signpost_certificates{days_left=~"ended|1"})) > 0',
    after: '10m',
    severity: 'critical',
    summary: 'Served domains whose certificate expires within a day or has expired: {{ $value }}',
  },
  {
    name: 'SignpostUnexpectedAuthority',
    expr: 'max(signpost_certificates_unexpected) > 0',
    severity: 'critical',
    summary:
      'Certificates of the last day from a CA that is not configured: {{ $value }}. Browsers can reject them',
  },
  {
    name: 'SignpostOrdersRefused',
    expr: 'sum(increase(signpost_certificate_orders_total{outcome="refused"}[1h])) > sum(increase(signpost_certificate_orders_total{outcome="issued"}[1h])) + 5',
    after: '10m',
    severity: 'warning',
    summary: 'The certificate authority refuses more orders than it accepts',
  },
];

const traffic: readonly AlertRule[] = [
  {
    name: 'SignpostApiErrors',
    expr: `sum(rate(signpost_http_requests_total{status=~"5.."}[5m])) / sum(rate(signpost_http_requests_total[5m])) > ${thresholds.apiErrorShare}`,
    after: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of API requests fail',
  },
  {
    name: 'SignpostEdgeErrors',
    expr: `sum by (instance) (rate(signpost_edge_requests_total{status="5xx"}[5m])) / (sum by (instance) (rate(signpost_edge_requests_total[5m])) > 0.1) > ${thresholds.edgeErrorShare}`,
    after: '10m',
    severity: 'critical',
    summary:
      '{{ $value | humanizePercentage }} of visitors’ requests at {{ $labels.instance }} get an error',
  },
  {
    name: 'SignpostEdgeHandshakes',
    expr: `sum by (instance) (rate(signpost_edge_handshakes_total{outcome="failed"}[5m])) / (sum by (instance) (rate(signpost_edge_handshakes_total[5m])) > 0.1) > ${thresholds.failedHandshakeShare}`,
    after: '10m',
    severity: 'warning',
    summary:
      '{{ $value | humanizePercentage }} of the TLS handshakes at {{ $labels.instance }} fail',
  },
  {
    name: 'SignpostGatewaySecret',
    expr: 'sum by (instance) (rate(signpost_edge_refused_total{limit="gateway_secret"}[5m])) > 0',
    after: '5m',
    severity: 'critical',
    summary:
      '{{ $labels.instance }} refuses requests without Caddy’s secret: EDGE_CADDY_SECRET differs, or others reach the gateway',
  },
];

const alertRules: readonly AlertRule[] = [
  ...processes,
  ...storage,
  ...work,
  ...certificates,
  ...traffic,
];

/** A rule file of Prometheus. `runbooks`: URL of docs/run/runbooks.md, as people read it. */
export function alertsFile(runbooks: string): string {
  const head = [
    '# Alerts on Signpost’s metrics, printed by `signpost alerts`. Scrape every process with job="signpost".',
    'groups:',
    '  - name: signpost',
    '    rules:',
  ];
  return `${[...head, ...alertRules.flatMap((rule) => ruleLines(rule, runbooks))].join('\n')}\n`;
}

/** JSON strings are YAML strings (YAML 1.2, section 1.2). */
function ruleLines(
  { name, expr, after, severity, summary }: AlertRule,
  runbooks: string,
): string[] {
  return [
    `      - alert: ${name}`,
    `        expr: ${JSON.stringify(expr)}`,
    ...(after === undefined ? [] : [`        for: ${after}`]),
    `        labels: { severity: ${severity} }`,
    '        annotations:',
    `          summary: ${JSON.stringify(summary)}`,
    `          runbook_url: ${JSON.stringify(`${runbooks}#${name.toLowerCase()}`)}`,
  ];
}
