/** A service whose members are plain values. A member that the test does not give throws when it is used. */
import { pino } from 'pino';
import type { OrderResult } from '../../src/certificates/authorities/authority.ts';
import { type CertificateFaultCode, certificateFault } from '../../src/certificates/fault.ts';
import { createVault } from '../../src/certificates/vault/vault.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type AnyJob, jobId } from '../../src/core/operations/jobs.ts';
import type { Service } from '../../src/service/service.ts';
import type { Unavailable } from '../../workers/orders/obtain.ts';
import { noon } from './builders.ts';

/** The levels that a test looks at. */
export type TestLog = Partial<
  Record<
    'error' | 'warn' | 'info' | 'debug',
    (fields: Readonly<Record<string, unknown>>, message: string) => void
  >
>;

/** Parts of members are enough. */
export type ServiceMembers = {
  readonly [K in keyof Service]?: K extends 'log'
    ? TestLog
    : Service[K] extends readonly unknown[]
      ? readonly object[]
      : Partial<Service[K]> | undefined;
};

export const testVault = createVault(new Uint8Array(32));

const loaded = loadConfig({});
if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
/** The defaults: embedded storage, the local CA, a window of 48 hours. */
export const defaultConfig = loaded.config;

/** Of the local CA, without a request. */
const alone = {
  authorities: [{ directoryUrl: null, issuerDomains: ['ca.test'] }],
  caaAuthorities: async () => [{ issuerDomains: ['ca.test'], accountUri: null, method: 'http-01' }],
  health: { downForMs: () => 0, answeredAt: () => null, note: () => undefined },
  askAuthority: async () => undefined,
  external: null,
  vault: testVault,
} as const;

/** Sweeps log the faults of single domains; a test wants to see them. */
export const throwingLog: TestLog = {
  error: ({ err }) => {
    throw err;
  },
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};

/** Noon, a jitter in the middle, no metrics, and nothing to log. */
export function plainService(members: ServiceMembers): Service {
  const service = {
    ...alone,
    config: defaultConfig,
    now: () => noon,
    random: () => 0.5,
    pause: async () => undefined,
    metrics: undefined,
    log: pino({ level: 'silent' }),
    handshakes: { probe: async () => [], recordServed: async () => undefined },
    accountOf: async (projectId: string) => projectId,
    ...members,
  } as unknown as Service; // what is missing throws
  return new Proxy(service, {
    get(target, key) {
      if (key in target) return Reflect.get(target, key);
      throw new Error(`the test's service has no ${String(key)}`);
    },
  });
}

/** Each job as `queue domain.epoch`. */
export const namesOf = (queue: string, wanted: readonly { readonly job: AnyJob }[]) =>
  wanted.map(({ job }) => `${queue} ${jobId(job)}`);

/** Follow-up jobs as `queue domain.epoch at time`, and removed ones. */
export function recordingQueues() {
  const jobs: string[] = [];
  const queues: Partial<Service['queues']> = {
    enqueue: async (queue, wanted) => {
      for (const { job, runAt } of wanted) {
        jobs.push(`${queue} ${jobId(job)} at ${runAt.toISOString()}`);
      }
    },
    remove: async (queue, job) => void jobs.push(`remove ${queue} ${jobId(job)}`),
  };
  return { jobs, queues };
}

/** As from a CA, whose faults are thrown. */
export function orThrow(result: OrderResult | Unavailable): OrderResult {
  if (result.kind !== 'unavailable') return result;
  const [, code = 'ca_failed', words = result.detail] =
    /^(ca_\w+): (.*)$/.exec(result.detail) ?? [];
  const answered = result.answered === true ? 'order_still_open' : code;
  const { retryAfter } = result;
  throw certificateFault(answered as CertificateFaultCode, words, retryAfter ? { retryAfter } : {});
}
