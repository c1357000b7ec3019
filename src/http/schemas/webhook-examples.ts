/** The examples of the OpenAPI document. */
import { docsProject } from './projects.ts';

export const docsWebhook = {
  id: '0198c2a7-5d1e-4f60-9b1c-2f6e8a3d4c55',
  projectId: docsProject.id,
  url: 'https://hooks.example.com/signpost',
  events: ['domain.live', 'domain.drifted'],
  enabled: true,
  disabledAt: null,
  disabledReason: null,
  oldSecretEndsAt: null,
  createdAt: '2026-11-20T12:00:00.000Z',
} as const;

export const docsSecret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

export const docsDelivery = {
  id: '0198c2b0-77aa-4f3e-8c15-6d2f0b9e1a44',
  messageId: 'msg_5f0c7a52-6f0e-4a0b-9a6d-1d2c3b4a5968',
  projectId: docsProject.id,
  event: 4n,
  type: 'domain.live',
  status: 'pending',
  attempts: 2,
  createdAt: '2026-11-20T12:04:00.000Z',
  lastAttemptAt: '2026-11-20T12:04:05.000Z',
  lastStatus: 503,
  lastError: 'not_accepted',
  nextAttemptAt: '2026-11-20T12:09:05.000Z',
} as const;
