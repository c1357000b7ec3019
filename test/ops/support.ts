/** An empty installation. */
import type { InstallationState } from '../../src/db/installation.ts';
import type { ReadInstallation } from '../../src/ops/metrics/installation.ts';

export const nothing: InstallationState = {
  domains: { pending: 0, verified: 0, live: 0, drifted: 0, failed: 0 },
  overdueSeconds: {
    'check-dns': 0,
    'issue-certificate': 0,
    'escalate-certificate': 0,
    'recheck-live': 0,
    'renew-certificate': 0,
    'deliver-webhook': 0,
  },
  oldestSeconds: { pending: 0, verified: 0 },
  escalationsOpen: {},
  certificates: { ended: 0, '1': 0, '7': 0, '30': 0, more: 0 },
  soonestEndSeconds: null,
  quarantined: {},
  repairs: {},
  turnAgeSeconds: null,
  certificatesUnexpected: 0,
  postgresConnections: { used: 1, max: 100 },
};

export const noState: ReadInstallation = {
  state: async () => ({
    ...nothing,
    processes: { api: 1, worker: 0, edge: 2 },
    mismatches: { refused: 0, differing: 0 },
  }),
  queues: async () => ({ counts: {}, memory: null }),
};
