/** Every fault that there is, by family. */
import type { Fault } from './fault.ts';
import { killedApi, killedEdge, killedWorkers } from './faults/killed-process.ts';
import {
  postgresAwayAtStart,
  postgresFull,
  postgresRestarted,
  postgresSlow,
} from './faults/postgres.ts';
import { redisAway, redisFlushed, redisFull, redisPromoted } from './faults/redis.ts';
import { rollingApi, rollingEdge, rollingWorker } from './faults/rolling-restart.ts';

export const allFaults: readonly Fault[] = [
  killedApi,
  killedWorkers,
  killedEdge,
  rollingApi,
  rollingWorker,
  rollingEdge,
  redisFlushed,
  redisAway,
  redisFull,
  redisPromoted,
  postgresRestarted,
  postgresAwayAtStart,
  postgresFull,
  postgresSlow,
];
