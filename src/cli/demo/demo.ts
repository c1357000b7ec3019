/** The real service in a test lab, and a customer who makes common mistakes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { pino } from 'pino';
import { type Config, loadConfig } from '../../config/config.ts';
import { type Signpost, startSignpost } from '../../start.ts';
import type { FindingShown } from '../lines.ts';
import type { DomainShown, EventShown } from '../shown.ts';
import { PLATFORM_DOMAIN, startTestLab, type TestLab, visit, ZONE } from './test-lab.ts';

const HOSTNAME = `docs.${ZONE}`;
const ACT_DEADLINE_MS = 15_000;
const POLL_MS = 100;

/** The line has no newline. */
type Print = (line: string) => void;

export type DemoOptions = {
  /** Before each act, so that a person can read it. */
  readonly pauseMs: number;
  readonly stop: AbortSignal;
  /** Keeps everything running after the tour, until `stop`. */
  readonly keep: boolean;
  readonly start?: typeof startTestLab;
};

/** Rejects if an act is late or a step fails. Always stops what it started and deletes its data. */
export async function runDemo(write: Print, options: DemoOptions): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signpost-demo-'));
  try {
    const lab = await (options.start ?? startTestLab)();
    try {
      await playOn(lab, dataDir, write, options);
    } finally {
      await lab.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function playOn(
  lab: TestLab,
  dataDir: string,
  write: Print,
  options: DemoOptions,
): Promise<void> {
  const signpost = await startSignpost(demoConfig(lab, dataDir), pino({ level: 'silent' }));
  const stopped = once(options.stop);
  try {
    const running = whatRuns(signpost, dataDir);
    await Promise.race([play(running, lab, stopwatch(write), options), stopped]);
    if (options.keep && !options.stop.aborted) await keepRunning(running, write, stopped);
  } finally {
    await signpost.close(5_000);
  }
}

function whatRuns(signpost: Signpost, dataDir: string): Running {
  const { http, edge } = signpost.addresses;
  if (http === null || edge === null) throw new Error('the demo needs every role');
  return {
    http,
    httpsPort: edge.httpsPort,
    firstKey: signpost.firstKey,
    hostname: HOSTNAME,
    rootCertificate: signpost.service.rootCertificate,
    dataDir,
  };
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function play(
  running: Running,
  lab: TestLab,
  print: Print,
  { pauseMs, stop }: DemoOptions,
): Promise<void> {
  const { http, httpsPort, firstKey, rootCertificate } = running;
  const customer = createCustomer(http, firstKey ?? '');
  const domain = await customer.addDomain(HOSTNAME, lab.upstream);
  const { type, name, value, ttl } = domain.record;
  print(said(`The customer adds ${HOSTNAME} and is shown the record to create:`));
  print(`    ${type}  ${name}  ${value}  TTL ${ttl}`);

  const follow = createFollower(customer, print, stop);
  for (const act of acts) {
    await sleep(pauseMs);
    if (stop.aborted) return;
    print('');
    print(said(act.says));
    await lab.publish(act.publishes.map((record) => record.replace('{target}', value)));
    for (const record of act.publishes)
      print(dim(`    ${ZONE}: ${record.replace('{target}', value)}`));
    await follow(act);
  }
  const answer = await visit(HOSTNAME, httpsPort, (await rootCertificate()) ?? '');
  print('');
  print(said(`A visitor opens https://${HOSTNAME}/`));
  print(`    ${answer.status}  ${answer.body.trim()}`);
  print(dim(`    certificate by ${answer.issuer}, valid until ${answer.validTo}`));
}

/** Prints the domain's events as they arrive, until the act has had its effect. */
function createFollower(
  { timeline }: Customer,
  print: Print,
  stop: AbortSignal,
): (act: Act) => Promise<void> {
  let seen = 0;
  return async ({ until }) => {
    const deadline = Date.now() + ACT_DEADLINE_MS;
    while (Date.now() < deadline && !stop.aborted) {
      const fresh = (await timeline()).slice(seen);
      // Events after the awaited one belong to the next act.
      const last = fresh.findIndex((event) => isAwaited(event, until));
      const shown = last === -1 ? fresh : fresh.slice(0, last + 1);
      seen += shown.length;
      for (const line of shown.flatMap(describe)) print(line);
      if (last !== -1) return;
      await sleep(POLL_MS);
    }
    throw new Error(`the demo waited ${ACT_DEADLINE_MS / 1_000} s for ${JSON.stringify(until)}`);
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function isAwaited({ type, data }: DemoEvent, until: Awaited): boolean {
  return 'event' in until
    ? type === until.event
    : (data.appeared ?? []).some(({ code }) => code === until.finding);
}

function describe({ type, data }: DemoEvent): string[] {
  if (type !== 'domain.findings_changed') {
    return [
      `  ${styleText('green', '●')} ${styleText('bold', type)}${type === 'certificate.issued' ? ` by ${data.issuer}` : ''}`,
    ];
  }
  return [
    ...(data.cleared ?? []).map(({ code }) => `  ${styleText('green', '✓')} ${code} is gone`),
    ...(data.appeared ?? []).flatMap(({ code, summary, action }) => [
      `  ${styleText('red', '✗')} ${styleText('bold', code)}: ${summary}`,
      `    → ${action}`,
    ]),
  ];
}

function demoConfig({ dnsPort }: TestLab, dataDir: string): Config {
  const result = loadConfig({
    PORT: '0',
    EDGE_HTTP_PORT: '0',
    EDGE_HTTPS_PORT: '0',
    // A probe would ask port 443, as visitors do.
    EDGE_PROBE: 'false',
    DATA_DIR: dataDir,
    PLATFORM_DOMAIN,
    DNS_SERVERS: `127.0.0.1:${dnsPort}`,
    DNS_AUTHORITY_PORT: String(dnsPort),
    DNS_ALLOW_PRIVATE: 'true',
    // Checks every 250 ms instead of 15 s.
    VERIFY_WINDOW: '10m',
    TIME_SCALE: '288',
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

function stopwatch(write: Print): Print {
  const start = performance.now();
  return (line) => {
    const seconds = ((performance.now() - start) / 1_000).toFixed(1).padStart(5);
    write(line === '' ? '' : `${dim(`${seconds} s`)}  ${line}`);
  };
}

function said(text: string): string {
  return styleText('cyan', text);
}

function dim(text: string): string {
  return styleText('dim', text);
}

// The demo's customer uses only the public API.

/** `appeared` and `cleared` belong to `domain.findings_changed`, `issuer` to certificate events. */
type DemoEvent = EventShown & {
  readonly data: {
    readonly appeared?: readonly FindingShown[];
    readonly cleared?: readonly FindingShown[];
    readonly issuer?: string;
  };
};

/** `apiUrl` has no trailing slash. */
function createCustomer(apiUrl: string, key: string) {
  let domainPath = '';

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer as T; // the API documents this shape
  }

  return {
    /** A paid project with a deploy. Call it once, before `timeline`: the slug is fixed. */
    async addDomain(hostname: string, upstream: string): Promise<Pick<DomainShown, 'record'>> {
      const project = await call<{ id: string }>('POST', '/v1/projects', {
        name: 'The shop’s documentation',
        slug: 'shop-docs',
        plan: 'pro',
      });
      const base = `/v1/projects/${project.id}`;
      await call('POST', `${base}/deploys`, { status: 'succeeded', upstream });
      domainPath = `${base}/domains/${hostname}`;
      return call<DomainShown>('POST', `${base}/domains`, { hostname });
    },
    /** Oldest first. */
    async timeline(): Promise<readonly DemoEvent[]> {
      return (await call<DemoEvent[]>('GET', `${domainPath}/timeline`)).reverse();
    },
  };
}

/** Calls reject if the API returns an error. */
type Customer = ReturnType<typeof createCustomer>;

type Awaited = { readonly finding: string } | { readonly event: 'domain.live' };

/** What the customer publishes and what the service must report before the next act starts. */
type Act = {
  readonly says: string;
  /** The whole zone. `{target}` stands for the target that the customer was shown. */
  readonly publishes: readonly string[];
  readonly until: Awaited;
};

/** One mistake after another, then the fix for the last one. */
const acts: readonly Act[] = [
  {
    says: 'The customer has not created the record yet.',
    publishes: [],
    until: { finding: 'record_missing' },
  },
  {
    says: 'An old A record is still there.',
    publishes: ['docs A 192.0.2.7'],
    until: { finding: 'conflicting_a' },
  },
  {
    says: 'The A record is gone, but the CNAME points to the wrong host.',
    publishes: ['docs CNAME old-host.example.'],
    until: { finding: 'cname_mismatch' },
  },
  {
    says: 'The CNAME is right, but a CAA record allows only another CA.',
    publishes: ['docs CNAME {target}.', '@ CAA 0 issue "other-ca.example"'],
    until: { finding: 'caa_blocks' },
  },
  {
    says: 'The customer allows our CA too. The rest is automatic.',
    publishes: [
      'docs CNAME {target}.',
      '@ CAA 0 issue "other-ca.example"',
      '@ CAA 0 issue "letsencrypt.org"',
    ],
    until: { event: 'domain.live' },
  },
];

type Running = {
  readonly http: string;
  readonly httpsPort: number;
  readonly firstKey: string | null;
  readonly hostname: string;
  /** PEM of the local CA's root certificate. */
  readonly rootCertificate: () => Promise<string | null>;
  /** Deleted when the demo ends. */
  readonly dataDir: string;
};

/** Prints the dashboard's URL and key, and a command that visits the live domain. */
async function keepRunning(
  { http, httpsPort, firstKey, hostname, rootCertificate, dataDir }: Running,
  print: (line: string) => void,
  stopped: Promise<void>,
): Promise<void> {
  const root = join(dataDir, 'root.pem');
  await writeFile(root, (await rootCertificate()) ?? '');
  const site = `${hostname}:${httpsPort}`;
  for (const line of [
    '',
    'Everything keeps running. Press Ctrl-C to stop it.',
    '',
    `Dashboard:  http://localhost:${new URL(http).port}/`,
    `Key:        ${firstKey}`,
    '',
    'Visit the live domain:',
    `  curl --cacert ${root} --resolve ${site}:127.0.0.1 https://${site}/`,
  ]) {
    print(line);
  }
  await stopped;
}
