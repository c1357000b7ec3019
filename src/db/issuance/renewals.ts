/** What authorities said about when to renew (RFC 9773), beside the certificates, and the plan that comes of it. */
import {
  drawOf,
  escalateRenewalAt,
  plannedRenewalAt,
  type Renewable,
} from '../../core/certificates/plan.ts';
import { askFirstAt, type RenewalWindow } from '../../core/certificates/renewal-information.ts';
import type { LoadedDomain } from '../domains/domain-row.ts';
import type { Certificate, Prisma, PrismaClient } from '../generated/client.ts';

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

export type RenewalStore = {
  /** Changes nothing where the domain is no longer live in this epoch, or has another certificate by now. */
  plan(domain: LoadedDomain, certificate: Certificate, plan: RenewalPlan): Promise<void>;
};

export function createRenewalStore(prisma: PrismaClient): RenewalStore {
  return {
    async plan({ id, epoch }, certificate, { renewAt, askAt, known }) {
      await prisma.$executeRaw`
        WITH planned AS (
          UPDATE domain SET renew_at = COALESCE(${renewAt}::timestamptz, renew_at),
            renewal_info_at = ${askAt}::timestamptz, leases = 0
          WHERE id = ${id}::uuid AND epoch = ${epoch} AND status = 'live' AND removed_at IS NULL
            AND certificate_ends_at = ${certificate.expiresAt}
          RETURNING id
        )
        UPDATE certificate SET renewal_info = ${JSON.stringify(toStored(known))}::jsonb FROM planned
        WHERE certificate.id = ${certificate.id}::uuid AND domain_id = planned.id`;
    },
  };
}

/** Null where it was never issued. */
export function renewableOf(certificate: Certificate): Renewable | null {
  const { id, issuedAt, expiresAt, renewalInfo } = certificate;
  if (issuedAt === null || expiresAt === null) return null;
  return { id, issuedAt, expiresAt, window: knownRenewal(renewalInfo).window };
}

/** The columns of a domain that is served with this certificate from now on. */
export function servedColumns(certificate: Renewable, now: Date) {
  return {
    certificateEndsAt: certificate.expiresAt,
    renewAt: plannedRenewalAt(certificate, now),
    renewalInfoAt: askFirstAt(now, drawOf(certificate.id)),
    escalateAt: escalateRenewalAt(certificate),
    leases: 0,
  };
}

type Stored = {
  readonly window?: { readonly start: string; readonly end: string };
  readonly explanationUrl?: string;
  readonly silentSince?: string;
};

/** As the column has it. */
export function knownRenewal(stored: Prisma.JsonValue): KnownRenewal {
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
