/** What the edge asks for each handshake and request. Never cached: a removal counts from its commit on. */
import type { PrismaClient } from './generated/client.ts';

export type EdgeLookups = {
  /** Null: no project holds this name. */
  findRoute(hostname: string): Promise<{
    hostname: string;
    upstream: string | null;
    certificateId: string | null;
  } | null>;
  /** The key authorization of an open challenge (RFC 8555, 8.3), or null. */
  findChallenge(token: string, hostname: string): Promise<string | null>;
  /** The chain and the sealed key of a certificate. */
  loadCertificate(id: string): Promise<{ chain: string; sealedKey: Uint8Array } | null>;
};

export function createEdgeLookups(prisma: PrismaClient): EdgeLookups {
  return {
    async findRoute(hostname) {
      const rows = await prisma.$queryRaw<
        { hostname: string; upstream: string | null; certificateId: string | null }[]
      >`
        SELECT hostname,
          (SELECT upstream FROM deploy
            WHERE deploy.project_id = domain.project_id AND status = 'succeeded'
            ORDER BY created_at DESC LIMIT 1) AS upstream,
          (SELECT id::text FROM certificate
            WHERE domain_id = domain.id AND status = 'issued' AND expires_at > now()
            ORDER BY expires_at DESC LIMIT 1) AS "certificateId"
        FROM domain
        WHERE hostname = ${hostname} AND removed_at IS NULL
          AND status IN ('verified', 'live', 'drifted')`;
      return rows[0] ?? null;
    },
    async findChallenge(token, hostname) {
      const certificate = { status: 'ordering', domain: { removedAt: null } } as const;
      const challenge = await prisma.challenge.findFirst({
        where: { token, hostname, certificate },
      });
      return challenge?.keyAuthorization ?? null;
    },
    async loadCertificate(id) {
      const certificate = await prisma.certificate.findUnique({
        where: { id },
        select: { chain: true, sealedKey: true },
      });
      return certificate?.chain ? { ...certificate, chain: certificate.chain } : null;
    },
  };
}
