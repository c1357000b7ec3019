/**
 * A worker process like dist/src/main.js in which a check of one domain kills the process and a check of another
 * throws. Without them it is an ordinary worker that notices stalled jobs sooner than in production, so that tests are
 * fast.
 */
import { pino } from 'pino';
import { loadConfig } from '../../dist/src/config/config.js';
import { startSignpost } from '../../dist/src/start.js';
import { startWorkers } from '../../dist/workers/start.js';

const { DEADLY_DOMAIN, FAULTY_DOMAIN, ...env } = process.env;
const result = loadConfig({ ...env, ROLE: 'edge' });
if (!result.ok) throw new Error(JSON.stringify(result.problems));
const { service } = await startSignpost(result.config, pino({ level: 'silent' }));
const { backend, checks } = service;

startWorkers({
  ...service,
  checks: {
    ...checks,
    load(id) {
      if (id === DEADLY_DOMAIN) process.kill(process.pid, 'SIGKILL');
      if (id === FAULTY_DOMAIN) throw new TypeError('this domain is a mistake of ours');
      return checks.load(id);
    },
  },
  backend: {
    ...backend,
    workerOptions: { ...backend.workerOptions, lockDuration: 2_000, stalledInterval: 500 },
  },
});

process.stdout.write('Signpost is ready\n');
process.once('SIGTERM', () => process.exit(0));
