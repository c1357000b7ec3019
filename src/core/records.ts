/**
 * What is stored, as everything above the database knows it. The database layer gives these and takes them; its own types
 * of rows stay there. JSON that only one module writes is `unknown` here: that module reads it.
 */
import type { DomainStatus } from './life/lifecycle.ts';

export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

export type Project = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly plan: Plan;
  /** When a deploy first succeeded. */
  readonly deployedAt: Date | null;
  readonly createdAt: Date;
  readonly primaryHostname: string | null;
};

export const deployStatuses = ['succeeded', 'failed'] as const;
export type DeployStatus = (typeof deployStatuses)[number];

export type Deploy = {
  readonly id: string;
  readonly projectId: string;
  readonly status: DeployStatus;
  readonly upstream: string;
  readonly createdAt: Date;
};

/** A domain with everything that its row has; a job loads less (src/db/domains/domain-row.ts). */
export type DomainRecord = {
  readonly id: string;
  readonly projectId: string;
  readonly hostname: string;
  readonly target: string;
  readonly status: DomainStatus;
  readonly epoch: number;
  readonly version: number;
  /** Checks that ran since it was added, verified again or lost its name. */
  readonly attempts: number;
  readonly findings: unknown;
  readonly addedAt: Date;
  readonly pendingSince: Date;
  readonly lastCheckedAt: Date | null;
  readonly nextCheckAt: Date | null;
  readonly verifiedAt: Date | null;
  readonly missedAt: Date | null;
  readonly escalateAt: Date | null;
  readonly removedAt: Date | null;
  readonly driftedAt: Date | null;
  readonly failedAt: Date | null;
  readonly recheckAt: Date | null;
  readonly renewAt: Date | null;
  readonly renewalInfoAt: Date | null;
  readonly shown: unknown;
  readonly certificateEndsAt: Date | null;
  readonly watchedUntil: Date | null;
};

/** An order, and what came of it. */
export type Certificate = {
  readonly id: string;
  readonly domainId: string;
  readonly hostname: string;
  readonly status: 'ordering' | 'issued' | 'failed';
  /** Null where another edge has the key. */
  readonly sealedKey: Uint8Array<ArrayBuffer> | null;
  /** The directory of the authority that has the order; null: the first one's, the local one's, or another edge's. */
  readonly authority: string | null;
  readonly orderUrl: string | null;
  /** In PEM. */
  readonly chain: string | null;
  readonly issuer: string | null;
  readonly issuedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly problem: unknown;
  readonly setback: unknown;
  readonly renewalInfo: unknown;
  /** What it counts for of its authority's limits. */
  readonly buckets: readonly string[];
  /** When it was issued, refused or superseded. */
  readonly endedAt: Date | null;
  readonly createdAt: Date;
};

export type Escalation = {
  readonly id: string;
  readonly domainId: string;
  readonly cause: string;
  readonly evidence: unknown;
  readonly nextAction: string;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
};

export type Webhook = {
  readonly id: string;
  /** Null: an operator's. */
  readonly projectId: string | null;
  readonly url: string;
  /** Empty: every type. */
  readonly eventTypes: readonly string[];
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  /** After a rotation both secrets sign, until the old one ends. */
  readonly sealedOldSecret: Uint8Array<ArrayBuffer> | null;
  readonly oldSecretEndsAt: Date | null;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly failingSince: Date | null;
  readonly deletedAt: Date | null;
};

/** Of an event on its way to a webhook. */
export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

/** A job that was set aside. */
export type Quarantine = {
  readonly queue: string;
  readonly jobId: string;
  readonly domainId: string | null;
  readonly reason: string;
  /** How often it was set aside; each time for longer. */
  readonly times: number;
  readonly since: Date;
  readonly until: Date;
};

/** How every item that the vault sealed begins, also where it is read without a key (src/db/issuance/sealed-columns.ts). */
export const sealedItem = {
  /** The first byte. */
  version: 1,
  /** The version and the 8 bytes that name the key encryption key. */
  headerBytes: 9,
} as const;
