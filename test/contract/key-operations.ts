import { inClosedAccount, inNoAccount } from './account-operations.ts';
import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';

const ofKey: Asking = ({ keyId }) => ({ params: { keyId } });
const toNoKey = { params: { keyId: 'nobodyHasIt1' } };

export const keyOperations: Readonly<Record<string, OperationAsks>> = {
  listKeys: { success: [200, () => ({})] },
  getOwnKey: { success: [200, () => ({})] },
  createKey: {
    success: [
      201,
      ({ unique }) => ({ json: { name: `a reader ${unique}`, scopes: ['pets:read'] } }),
    ],
    refusals: [
      [404, 'account_not_found', inNoAccount({ name: 'reader', scopes: ['domains:read'] })],
      [409, 'account_closed', inClosedAccount({ name: 'reader', scopes: ['domains:read'] })],
      [
        409,
        'outlives_maker',
        ({ expiringKey }) => ({
          headers: { authorization: `Bearer ${expiringKey}` },
          json: { name: 'reader', scopes: ['keys:read'], expiresAt: '2090-01-01T00:00:00Z' },
        }),
      ],
      // An account's key cannot have this scope, which a schema does not say.
      [
        400,
        'invalid_body',
        ({ accountId }) => ({ json: { name: 'reader', scopes: ['pets:read'], accountId } }),
      ],
    ],
    misfits: [[400, 'invalid_body', () => ({ json: { name: 'reader', scopes: [] } })]],
  },
  getKey: { success: [200, ofKey], refusals: [[404, 'key_not_found', () => toNoKey]] },
  rotateKey: {
    success: [
      201,
      ({ keyIdToRotate }) => ({
        params: { keyId: keyIdToRotate },
        json: { graceSeconds: 60 },
      }),
    ],
    refusals: [
      [404, 'key_not_found', () => ({ ...toNoKey, json: { graceSeconds: 60 } })],
      [
        409,
        'key_ended',
        ({ revokedKeyId }) => ({ params: { keyId: revokedKeyId }, json: { graceSeconds: 60 } }),
      ],
      [
        409,
        'key_rotated',
        ({ rotatedKeyId }) => ({ params: { keyId: rotatedKeyId }, json: { graceSeconds: 60 } }),
      ],
      [
        409,
        'rotation_under_way',
        ({ successorKeyId }) => ({ params: { keyId: successorKeyId }, json: { graceSeconds: 60 } }),
      ],
      [
        409,
        'last_admin_key',
        () => ({ params: { keyId: 'configured' }, json: { graceSeconds: 0 } }),
      ],
      [
        409,
        'outlives_maker',
        ({ expiringKey, lastingKeyId }) => ({
          headers: { authorization: `Bearer ${expiringKey}` },
          params: { keyId: lastingKeyId },
          json: { graceSeconds: 60 },
        }),
      ],
    ],
  },
  listSessions: { success: [200, () => ({})] },
  listAudit: { success: [200, () => ({})] },
  endSession: {
    success: [204, ({ sessionId }) => ({ params: { sessionId } })],
    refusals: [
      [
        404,
        'session_not_found',
        () => ({ params: { sessionId: '00000000-0000-4000-8000-000000000001' } }),
      ],
    ],
  },
  revokeKey: {
    success: [204, ({ keyIdToRevoke }) => ({ params: { keyId: keyIdToRevoke } })],
    refusals: [
      [404, 'key_not_found', () => toNoKey],
      [409, 'last_admin_key', () => ({ params: { keyId: 'configured' } })],
    ],
  },
};
