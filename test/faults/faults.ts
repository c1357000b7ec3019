import type { Fault } from './fault.ts';
import {
  authorityAway,
  authorityBusy,
  authorityNonces,
  authorityProcessing,
} from './faults/authority.ts';
import { certificateUnstored } from './faults/certificate-row.ts';
import { blockedLoop, clockAhead, clockBehind, clockTomorrow } from './faults/clock.ts';
import { brokenLogPipe, mixedConfiguration } from './faults/configuration.ts';
import { diskFull } from './faults/disk-full.ts';
import { dnsLame, dnsLooping, dnsLying, dnsSilent } from './faults/dns.ts';
import {
  embeddedKilled,
  killedApi,
  killedEdge,
  killedWorkers,
  rollingApi,
  rollingEdge,
  rollingWorker,
} from './faults/killed-process.ts';
import { manyDue } from './faults/many-due.ts';
import { poisonedJob } from './faults/poison.ts';
import {
  postgresAwayAtStart,
  postgresFull,
  postgresRestarted,
  postgresSlow,
} from './faults/postgres.ts';
import { redisAway, redisFlushed, redisFull, redisPromoted } from './faults/redis.ts';

export const allFaults: readonly Fault[] = [
  ...[killedApi, killedWorkers, killedEdge, poisonedJob, blockedLoop],
  ...[rollingApi, rollingWorker, rollingEdge],
  ...[redisFlushed, redisAway, redisFull, redisPromoted],
  ...[postgresRestarted, postgresAwayAtStart, postgresFull, postgresSlow, diskFull],
  ...[dnsSilent, dnsLying, dnsLooping, dnsLame],
  ...[clockAhead, clockBehind, clockTomorrow],
  ...[authorityAway, authorityNonces, authorityBusy, authorityProcessing, certificateUnstored],
  ...[mixedConfiguration, brokenLogPipe],
  ...[manyDue, embeddedKilled],
];
