/** A key and its successors are a line: at most two of it are live at once, and somebody can always manage keys. */
import type { KeyDetails } from './api-keys.ts';
import type { ApiKey, Prisma } from './generated/client.ts';

/** What a key is replaced with; times of the successor follow from the key's own. */
export type Rotation = {
  readonly successor: { readonly id: string; readonly digest: Uint8Array<ArrayBuffer> };
  /** How long the key lives on beside its successor. */
  readonly graceMs: number;
  readonly now: Date;
};

export type RotationResult =
  | { readonly kind: 'rotated'; readonly successor: KeyDetails }
  | { readonly kind: 'not_found' | 'ended' | 'has_successor' | 'last_admin' }
  /** With this one there would be three. */
  | { readonly kind: 'predecessor_live'; readonly predecessorId: string; readonly endsAt: Date };

export type RevokeResult = 'revoked' | 'not_found' | 'last_admin';

type Tx = Prisma.TransactionClient;

/** Whether a key is accepted at this time. */
export function isLive(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

/**
 * Stores a successor with the same name and scopes and as long a life, and ends the key after the grace, or at its
 * own end where that is sooner. The caller holds the lock of src/db/api-keys.ts.
 */
export async function rotate(tx: Tx, id: string, rotation: Rotation): Promise<RotationResult> {
  const key = await tx.apiKey.findUnique({ where: { id } });
  if (key === null) return { kind: 'not_found' };
  const refused = await whyNot(tx, key, rotation);
  if (refused !== null) return refused;
  const { successor, graceMs, now } = rotation;
  const graceEnd = new Date(now.getTime() + graceMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt < graceEnd ? key.expiresAt : graceEnd;
  const { name, scopes } = key;
  const made = await tx.apiKey.create({
    data: { ...successor, name, scopes, createdAt: now, expiresAt: sameLifeFrom(now, key) },
    omit: { digest: true },
  });
  await tx.apiKey.update({ where: { id }, data: { successorId: made.id, expiresAt } });
  return { kind: 'rotated', successor: { ...made, deprecatedUses: [] } };
}

async function whyNot(
  tx: Tx,
  key: ApiKey,
  { graceMs, now }: Rotation,
): Promise<RotationResult | null> {
  if (!isLive(key, now)) return { kind: 'ended' };
  if (key.successorId !== null) return { kind: 'has_successor' };
  if (graceMs === 0) {
    // The successor is an admin, too; but an answer that is lost on its way would leave nobody with a key.
    return (await isLastAdmin(tx, key, now)) ? { kind: 'last_admin' } : null;
  }
  const live = await livePredecessor(tx, key.id, now);
  return live && { kind: 'predecessor_live', predecessorId: live.id, endsAt: live.expiresAt };
}

/** A key that was made for 90 days gives one for 90 days. */
function sameLifeFrom(now: Date, { createdAt, expiresAt }: ApiKey): Date | null {
  if (expiresAt === null) return null;
  return new Date(now.getTime() + expiresAt.getTime() - createdAt.getTime());
}

/** Ends a key now. The caller holds the lock of src/db/api-keys.ts. */
export async function revoke(tx: Tx, id: string, now: Date): Promise<RevokeResult> {
  const key = await tx.apiKey.findUnique({ where: { id } });
  if (key === null) return 'not_found';
  if (key.revokedAt !== null) return 'revoked';
  if (isLive(key, now) && (await isLastAdmin(tx, key, now))) return 'last_admin';
  await tx.apiKey.update({ where: { id }, data: { revokedAt: now } });
  return 'revoked';
}

/** Whether no other key that is live may manage keys, and this one may. */
async function isLastAdmin(tx: Tx, { id, scopes }: ApiKey, now: Date): Promise<boolean> {
  if (!scopes.includes('admin')) return false;
  const others = await tx.apiKey.count({
    where: {
      id: { not: id },
      scopes: { has: 'admin' },
      revokedAt: null,
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
  });
  return others === 0;
}

/** However far back in the line: one between may have ended sooner. Each has an end, as each was rotated. */
async function livePredecessor(tx: Tx, id: string, now: Date) {
  const [live] = await tx.$queryRaw<{ id: string; expiresAt: Date }[]>`
    WITH RECURSIVE line AS (
      SELECT * FROM api_key WHERE successor_id = ${id}
      UNION ALL
      SELECT before.* FROM api_key before JOIN line ON before.successor_id = line.id
    )
    SELECT id, expires_at AS "expiresAt" FROM line
    WHERE revoked_at IS NULL AND expires_at > ${now} ORDER BY expires_at DESC LIMIT 1`;
  return live ?? null;
}
