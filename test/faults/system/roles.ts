/** The service's processes. Each one has a place that outlives it, as with an orchestrator. */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Role } from '../../../src/core/operations/roles.ts';
import { launchProcess, type SignpostProcess } from '../../support/process.ts';
import { freePort } from '../../support/servers.ts';
import { type Backend, isReadyAt } from './balancer.ts';
import { until } from './wait.ts';

export const projectRoot = fileURLToPath(new URL('../../../../', import.meta.url));
const preload = new URL('./preload.js', import.meta.url).href;

type Env = Readonly<Record<string, string>>;

export type Place = {
  readonly name: string;
  readonly role: Role;
  /** Where its process listens: the API, or the edge's HTTP and HTTPS ports. */
  readonly ports: Readonly<Record<'api' | 'http' | 'https' | 'metrics', number>>;
  readonly pid: number | undefined;
  /** Starts a process without waiting; `extra` is for this process only. */
  launch(extra?: Env): void;
  /** `launch`, and waits until it is ready. */
  start(extra?: Env): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM; returns the exit code. */
  stop(): Promise<number | null>;
  isReady(): Promise<boolean>;
  /**
   * A new process on other ports takes over before the old one gets SIGTERM; returns the old exit
   * code.
   */
  replace(): Promise<number | null>;
  block(ms: number): void;
  /** Its output has no reader from then on. */
  stopReading(): void;
  measure(): Promise<Measured>;
};

export type Measured = {
  /** Heap and external memory after a collection. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly descriptors: number;
};

type Running = { readonly process: SignpostProcess; readonly ports: Place['ports'] };

/** `folder` receives the log of each process when it ends. */
export async function createPlace(
  role: Role,
  name: string,
  env: Env,
  folder: string,
): Promise<Place> {
  const orders = join(folder, 'orders');
  mkdirSync(orders, { recursive: true });
  const first = await drawPorts();
  let running: Running | null = null;

  function run(ports: Place['ports'], extra: Env): Running {
    const given = {
      ...env,
      ROLE: role,
      PORT: String(ports.api),
      EDGE_HTTP_PORT: String(ports.http),
      EDGE_HTTPS_PORT: String(ports.https),
      METRICS_PORT: String(ports.metrics),
      NODE_OPTIONS: `--import ${preload}`,
      FAULTS_ORDERS: orders,
      ...extra,
    };
    const process = launchProcess(given, projectRoot);
    void process.ended.then((code) => {
      const log = `--- pid ${process.pid}, exit code ${code}\n${process.output()}`;
      appendFileSync(join(folder, `${name}.log`), log);
    });
    return { process, ports };
  }

  const current = () => {
    if (running === null) throw new Error(`${name} was never started`);
    return running;
  };
  const order = (what: object) => {
    writeFileSync(join(orders, `${current().process.pid}.order`), JSON.stringify(what));
    current().process.signal('SIGUSR2');
  };
  const place: Place = {
    name,
    role,
    get ports() {
      return running?.ports ?? first;
    },
    get pid() {
      return running?.process.pid;
    },
    launch(extra = {}) {
      running = run(place.ports, extra);
    },
    async start(extra) {
      place.launch(extra);
      await current().process.printed('Signpost is ready');
    },
    kill: () => current().process.kill(),
    stop: () => current().process.stop(),
    isReady: () => isReadyAt(place.ports.metrics),
    async replace() {
      const [old, next] = [current(), run(await drawPorts(), {})];
      await next.process.printed('Signpost is ready');
      running = next;
      return old.process.stop();
    },
    block: (ms) => order({ blockMs: ms }),
    stopReading: () => current().process.stopReading(),
    async measure() {
      const file = join(orders, `${place.pid}.measured`);
      rmSync(file, { force: true });
      order({});
      const read = async () => readMeasured(file);
      const { heapBytes } = await until(`${name} is measured`, read, 20_000);
      return { heapBytes, ...ofSystem(place.pid) };
    },
  };
  return place;
}

export function apiBackends(places: readonly Place[]): Backend[] {
  return places.map(({ name, ports }) => ({ name, port: ports.api, metricsPort: ports.metrics }));
}

export function edgeBackends(places: readonly Place[], port: 'http' | 'https'): Backend[] {
  return places.map(({ name, ports }) => ({
    name,
    port: ports[port],
    metricsPort: ports.metrics,
  }));
}

async function drawPorts(): Promise<Place['ports']> {
  const [api, http, https] = [await freePort(), await freePort(), await freePort()];
  return { api, http, https, metrics: await freePort() };
}

function readMeasured(file: string): { heapBytes: number } | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { heapBytes: number }; // preload.ts wrote it
  } catch {
    return null;
  }
}

function ofSystem(pid: number | undefined): Pick<Measured, 'rssBytes' | 'descriptors'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN);
  return { rssBytes: field('VmRSS') * 1_024, descriptors: countDescriptors(pid) };
}

function countDescriptors(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
