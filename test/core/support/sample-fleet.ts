import type { FleetProcess } from '../../../src/core/operations/fleet.ts';

/** On one day. */
export const at = (seconds: number) => new Date(Date.UTC(2026, 10, 25, 12, 0, seconds));

export const settings = {
  REDIS_URL: 'redis://cache:6379/0',
  ACME_DIRECTORY_URL: 'https://acme.example/directory',
  ACME_FALLBACK_DIRECTORY_URL: 'not set',
  CERTIFICATES: 'own',
  EDGE: 'own',
  PLATFORM_DOMAIN: 'edge.example',
  KEY_ENCRYPTION_KEY: 'a1b2c3d4',
} as const;

/** Started at 0, and last seen at 95; `self` starts at 100. */
export const worker: FleetProcess = {
  id: 'b',
  role: 'worker',
  host: 'host-a',
  pid: 1,
  version: '1.2.0',
  settings,
  startedAt: at(0),
  seenAt: at(95),
  queueSeenAt: at(95),
  resolversFailing: false,
  isRefused: false,
  problem: null,
};
export const self: FleetProcess = {
  ...worker,
  id: 'c',
  host: 'host-b',
  startedAt: at(100),
  seenAt: at(100),
};
export const local = { ...settings, ACME_DIRECTORY_URL: 'local' };
