/** Tasks about processes, queue and storage. */
import { shortList } from '../names/printable.ts';
import { counted } from '../words.ts';
import { processInWords, troubledIn } from './fleet.ts';
import { secondsInWords, type TaskRule } from './operator-task.ts';
import { thresholds } from './thresholds.ts';

export const queueAway: TaskRule = ({ queueAnswers }) => {
  if (queueAnswers) return null;
  return {
    code: 'queue_away',
    urgency: 'act',
    summary:
      'The queue does not answer, so no job runs. Accepted requests are safe in the database.',
    action:
      'Restore Redis, or PostgreSQL if the queue is there. The backlog then drains without a restart.',
  };
};

export const noWorker: TaskRule = ({ turnAgeSeconds, rolesMissing }) => {
  const isMissing = rolesMissing.includes('worker');
  const isLate = turnAgeSeconds === null || turnAgeSeconds > thresholds.turnAgeSeconds;
  if (!isMissing && !isLate) return null;
  const since = turnAgeSeconds === null ? 'yet' : `for ${secondsInWords(turnAgeSeconds)}`;
  const what = isLate ? `No worker has run ${since}` : 'No worker is running';
  return {
    code: 'no_worker',
    urgency: 'act',
    summary: `${what}: nothing is checked, issued or renewed.`,
    action: 'Start a process with ROLE=worker, or check the log of the existing one.',
  };
};

export const noEdge: TaskRule = ({ rolesMissing }) => {
  if (!rolesMissing.includes('edge')) return null;
  return {
    code: 'role_missing',
    urgency: 'act',
    summary: 'No edge is running: customers’ domains are not served.',
    action: 'Start a process with ROLE=edge, or check the log of the last one.',
  };
};

export const refusedProcesses: TaskRule = ({ fleet }) => {
  const troubled = troubledIn(fleet);
  const [first] = troubled;
  if (first === undefined) return null;
  const others = troubled.length - 1;
  return {
    code: 'process_refused',
    urgency: 'act',
    summary: `The configuration of ${processInWords(first)} differs: ${first.problem}${others === 0 ? '' : ` ${counted(others, 'other differs', 'others differ')}, too.`}`,
    action:
      'Set the same value there. If the change is intended, accept it with `signpost fleet accept`; another Redis needs every process stopped (docs/run/fleet.md).',
  };
};

export const cutOffProcesses: TaskRule = ({ fleet }) => {
  const cutOff = fleet.filter((one) => one.isCutOff);
  if (cutOff.length === 0) return null;
  return {
    code: 'process_cut_off',
    urgency: 'act',
    summary: `Redis does not answer ${shortList(cutOff.map(processInWords), 3)}, but answers here.`,
    action: 'Check the network between that machine and the host of REDIS_URL.',
  };
};

export const differingProcesses: TaskRule = ({ fleet }) => {
  const older = fleet.filter(({ differs }) => differs.length > 0);
  if (older.length === 0) return null;
  const named = older.map(
    (one) => `${processInWords(one)} (${one.differs.map(({ name }) => name).join(', ')})`,
  );
  return {
    code: 'processes_differ',
    urgency: 'watch',
    summary: `An older configuration is in use: ${shortList(named, 3)}.`,
    action: 'Restart them with the current version and variables.',
  };
};

export const pausedQueues: TaskRule = ({ queuesPaused }) => {
  if (queuesPaused.length === 0) return null;
  const [are, them] = queuesPaused.length === 1 ? ['is', 'it'] : ['are', 'them'];
  return {
    code: 'queue_paused',
    urgency: 'act',
    summary: `${shortList(queuesPaused, 3)} ${are} paused, so no job in ${them} runs.`,
    action: `Resume ${them} in /ops/queues. Waiting jobs run then.`,
  };
};

export const redisFull: TaskRule = ({ redisMemory }) => {
  if (redisMemory === null) return null;
  const share = redisMemory.used / redisMemory.max;
  if (share <= thresholds.redisMemoryShare) return null;
  return {
    code: 'redis_full',
    urgency: 'act',
    summary: `Redis uses ${Math.floor(share * 100)} % of its memory. When it is full, no job is added.`,
    action: 'Raise maxmemory, or empty what else is stored there.',
  };
};

export const connectionsExhausted: TaskRule = ({ postgresConnections: { used, max } }) => {
  if (used <= max * thresholds.postgresConnectionsShare) return null;
  return {
    code: 'connections_exhausted',
    urgency: 'act',
    summary: `PostgreSQL has ${used} of ${max} connections in use. Further ones are refused.`,
    action: 'Raise max_connections, or run fewer processes. pg_stat_activity shows who has them.',
  };
};
