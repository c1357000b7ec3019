/**
 * Stored records as seen above the database layer. JSON is `unknown`: the module that writes it
 * parses it. Times are exact to the millisecond.
 */
import type { DomainStatus } from './life/lifecycle.ts';
import { DAY } from './time.ts';

export const plans = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Owns all projects from before accounts existed, and those created without an account. */
export const DEFAULT_ACCOUNT_ID = '00000000-0000-4000-8000-000000000000';

/** A customer of the platform, or the platform itself. */
export type Account = {
  readonly id: string;
  readonly name: string;
  /** Those that differ from the usual ones, by name (operations/account-limits.ts). */
  readonly limits: unknown;
  readonly createdAt: Date;
  /** Its keys have ended. */
  readonly closedAt: Date | null;
};

export type Project = {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly slug: string;
  readonly plan: Plan;
  /** When a deploy last succeeded. */
  readonly deployedAt: Date | null;
  readonly createdAt: Date;
  /** One of the project's domains (A-labels, lower case). */
  readonly primaryHostname: string | null;
  /** Of the key that signs requests to its deploys; each rotation adds one. */
  readonly signingGeneration: number;
  readonly signingRotatedAt: Date | null;
  /** Metadata of src/core/metadata.ts. */
  readonly metadata: unknown;
  /** Deleted projects are never found. */
  readonly deletedAt: Date | null;
};

/** After its deletion, a project's events, deliveries and metadata are erased. */
export const PROJECT_ERASED_MS = 30 * DAY;

export const deployStatuses = ['succeeded', 'failed'] as const;
export type DeployStatus = (typeof deployStatuses)[number];

/** The edge sends visitors to the newest deploy that succeeded. */
export type Deploy = {
  readonly id: string;
  readonly projectId: string;
  readonly status: DeployStatus;
  readonly upstream: string;
  /** PEM: the CA certificates that verify an https upstream; null: those that Node.js trusts. */
  readonly upstreamCa: string | null;
  readonly createdAt: Date;
};

/** All columns of a domain; jobs load fewer (src/db/domains/domain-row.ts). */
export type DomainRecord = {
  readonly id: string;
  readonly projectId: string;
  readonly hostname: string;
  /** The host name that the customer's record must point to. */
  readonly target: string;
  readonly status: DomainStatus;
  /** Fences jobs: a job with an earlier epoch changes nothing. */
  readonly epoch: number;
  /** A save succeeds only if the version is the one loaded; each save changes it. */
  readonly version: number;
  /** Checks since it was added, verified again or lost its name. */
  readonly attempts: number;
  /** Of the last check: `Finding[]`, the headline first. */
  readonly findings: unknown;
  readonly addedAt: Date;
  readonly pendingSince: Date;
  readonly lastCheckedAt: Date | null;
  /** When its own job is due; null: it has none. */
  readonly nextCheckAt: Date | null;
  /** Null: not since it was last pending. */
  readonly verifiedAt: Date | null;
  /** The first of the two checks that make a live domain drifted. */
  readonly missedAt: Date | null;
  /** When an operator is notified unless a certificate is issued. */
  readonly escalateAt: Date | null;
  readonly removedAt: Date | null;
  readonly driftedAt: Date | null;
  readonly failedAt: Date | null;
  /** When a sweep checks it again. */
  readonly recheckAt: Date | null;
  readonly renewAt: Date | null;
  /** When its CA is next asked for the renewal window (RFC 9773). */
  readonly renewalInfoAt: Date | null;
  /** What the name's addresses served, and when (src/db/domains/served-certificates.ts). */
  readonly shown: unknown;
  readonly certificateEndsAt: Date | null;
  /** Approximately when the last viewer of its page leaves. */
  readonly watchedUntil: Date | null;
  /** Metadata of src/core/metadata.ts. */
  readonly metadata: unknown;
};

export type Certificate = {
  readonly id: string;
  readonly domainId: string;
  readonly hostname: string;
  readonly status: 'ordering' | 'issued' | 'failed';
  /** Null if an external edge has the key. */
  readonly sealedKey: Uint8Array<ArrayBuffer> | null;
  /** The directory of its CA; null: the local CA's, or an external edge's. */
  readonly authority: string | null;
  /** Null: not placed. */
  readonly orderUrl: string | null;
  /** PEM, the leaf first; null until it is issued. */
  readonly chain: string | null;
  readonly issuer: string | null;
  readonly issuedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly problem: unknown;
  readonly setback: unknown;
  /** The CA's renewal window and explanation URL (RFC 9773). */
  readonly renewalInfo: unknown;
  /** The rate limits that it counts toward: keys of src/core/certificates/budget.ts. */
  readonly buckets: readonly string[];
  /** When it was issued, refused or superseded. */
  readonly endedAt: Date | null;
  readonly createdAt: Date;
};

/** A domain has at most one that is open. */
export type Escalation = {
  readonly id: string;
  readonly domainId: string;
  /** An `EscalationCause`, or one of another version. */
  readonly cause: string;
  /** An `EscalationEvidence`. */
  readonly evidence: unknown;
  /** The next automatic step, as shown to customers. */
  readonly nextAction: string;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
};

/** The secrets are sealed and cannot sign. */
export type Webhook = {
  readonly id: string;
  /** Null: an operator's. */
  readonly projectId: string | null;
  readonly url: string;
  /** Empty: every type. */
  readonly eventTypes: readonly string[];
  readonly sealedSecret: Uint8Array<ArrayBuffer>;
  /** After a rotation, both secrets sign until the old one ends. */
  readonly sealedOldSecret: Uint8Array<ArrayBuffer> | null;
  readonly oldSecretEndsAt: Date | null;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** A `DisabledReason` of src/core/operations/webhook-plan.ts. */
  readonly disabledReason: string | null;
  /** The first failed attempt since a success, since it was enabled, or since its URL changed. */
  readonly failingSince: Date | null;
  /** Deleted webhooks are never returned. */
  readonly deletedAt: Date | null;
};

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

export type Quarantine = {
  readonly queue: string;
  readonly jobId: string;
  readonly domainId: string | null;
  /** One line without secrets. */
  readonly reason: string;
  /** Each time is longer. */
  readonly times: number;
  readonly since: Date;
  readonly until: Date;
};

/** Also for readers without a key (src/db/issuance/sealed-columns.ts). */
export const sealedItem = {
  version: 1,
  /** The version byte and the 8 bytes that name the key encryption key. */
  headerBytes: 9,
} as const;
