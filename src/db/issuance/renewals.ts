/** The CAs' renewal windows (RFC 9773) and the plan that results. */
import type { Renewable } from '../../core/certificates/renewal.ts';
import type { RenewalWindow } from '../../core/certificates/renewal-information.ts';
import type { Certificate } from '../../core/records.ts';
import { schedule } from '../domains/commit.ts';
import type { LoadedDomain } from '../domains/domain-row.ts';
import type { PrismaClient } from '../generated/client.ts';

export type KnownRenewal = {
  readonly window: RenewalWindow | null;
  /** The CA's page that explains the window. */
  readonly explanationUrl: string | null;
  /** Since when the CA gave no usable answer; null if the last one was good. */
  readonly silentSince: Date | null;
};

export type RenewalPlan = {
  /** Null: unchanged. */
  readonly renewAt: Date | null;
  /** When to request the window again. */
  readonly askAt: Date;
  readonly known: KnownRenewal;
};

/** Does nothing if the domain is no longer live in this epoch, or has another certificate. */
export async function planRenewal(
  prisma: PrismaClient,
  { id, epoch }: LoadedDomain,
  { id: certificateId, expiresAt }: Certificate,
  { renewAt, askAt, known }: RenewalPlan,
): Promise<void> {
  await prisma.$transaction(async (tx) => {
    const isPlanned = await schedule(
      tx,
      { id, epoch, status: 'live', certificateEndsAt: expiresAt },
      { renewalInfoAt: askAt, ...(renewAt && { renewAt }) },
    );
    if (!isPlanned) return;
    await tx.certificate.updateMany({
      where: { id: certificateId, domainId: id },
      data: { renewalInfo: toStored(known) },
    });
  });
}

/** Null if the certificate was never issued. */
export function renewableOf(certificate: Certificate): Renewable | null {
  const { id, issuedAt, expiresAt, renewalInfo } = certificate;
  if (issuedAt === null || expiresAt === null) return null;
  return { id, issuedAt, expiresAt, window: knownRenewal(renewalInfo).window };
}

type Stored = {
  readonly window?: { readonly start: string; readonly end: string };
  readonly explanationUrl?: string;
  readonly silentSince?: string;
};

export function knownRenewal(stored: unknown): KnownRenewal {
  const { window, explanationUrl, silentSince } = (stored ?? {}) as Stored; // only written by `plan`
  return {
    window: window ? { start: new Date(window.start), end: new Date(window.end) } : null,
    explanationUrl: explanationUrl ?? null,
    silentSince: silentSince === undefined ? null : new Date(silentSince),
  };
}

function toStored({ window, explanationUrl, silentSince }: KnownRenewal): Stored {
  return {
    ...(window && { window: { start: window.start.toISOString(), end: window.end.toISOString() } }),
    ...(explanationUrl !== null && { explanationUrl }),
    ...(silentSince && { silentSince: silentSince.toISOString() }),
  };
}
