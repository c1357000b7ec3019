/** What authorities said about when to renew (RFC 9773), beside the certificates, and the plan that comes of it. */
import type { Renewable, RenewalWindow } from '../../core/certificates/plan.ts';
import type { Certificate } from '../../core/records.ts';
import { schedule } from '../domains/commit.ts';
import type { LoadedDomain } from '../domains/domain-row.ts';
import type { PrismaClient } from '../generated/client.ts';

/** What a certificate's authority has said about its renewal. */
export type KnownRenewal = {
  /** Null while the authority has never said. */
  readonly window: RenewalWindow | null;
  /** The authority's page on why the window is what it is. */
  readonly explanationUrl: string | null;
  /** Since when it could not be asked, or gave no answer; null where the last one was good. */
  readonly silentSince: Date | null;
};

/** What becomes of an answer. */
export type RenewalPlan = {
  /** When the certificate is renewed; null: as planned before. */
  readonly renewAt: Date | null;
  /** When its authority is asked again. */
  readonly askAt: Date;
  readonly known: KnownRenewal;
};

/** Saves what authorities said. */
export type RenewalStore = {
  /** Changes nothing where the domain is no longer live in this epoch, or has another certificate by now. */
  plan(domain: LoadedDomain, certificate: Certificate, plan: RenewalPlan): Promise<void>;
};

/** The domain's times and the certificate's information are saved in one transaction. */
export function createRenewalStore(prisma: PrismaClient): RenewalStore {
  return {
    plan: ({ id, epoch }, { id: certificateId, expiresAt }, { renewAt, askAt, known }) =>
      prisma.$transaction(async (tx) => {
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
      }),
  };
}

/** What the plan of a renewal needs of a certificate; null where it was never issued. */
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

/** Reads the column; null throughout where nothing was stored. */
export function knownRenewal(stored: unknown): KnownRenewal {
  const { window, explanationUrl, silentSince } = (stored ?? {}) as Stored; // written by `plan` only
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
