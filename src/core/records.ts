/**
 * What is stored, as everything above the database knows it. The database layer gives these and takes them; its own types of
 * rows stay there. JSON that only one module writes is `unknown` here: that module reads it. Times are exact to the
 * millisecond.
 */
import type { DomainStatus } from './life/lifecycle.ts';

/** Every plan that a project may have, as stored and as the API spells it. */
export const plans = ['free', 'pro', 'enterprise'] as const;
/** One of `plans`. */
export type Plan = (typeof plans)[number];

/** A customer of the platform. */
export type Account = {
  readonly id: string;
  readonly name: string;
  /** What an operator allows it beside the configured limits, as JSON (src/core/accounts/limits.ts). */
  readonly limits: unknown;
  readonly createdAt: Date;
  /** Null: it is open. The keys of a closed one are refused. */
  readonly closedAt: Date | null;
};

/** A project, without its deploys, domains and redirects. */
export type Project = {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** No two projects of an account share one. */
  readonly slug: string;
  readonly plan: Plan;
  /** When a deploy last succeeded; null: none has. */
  readonly deployedAt: Date | null;
  readonly createdAt: Date;
  /** A domain of the project (A-labels, lower case); null: none is the primary one. */
  readonly primaryHostname: string | null;
  /** Of the key that signs the requests to its deploys: one more with each rotation. */
  readonly signingGeneration: number;
  /** When that key took the place of the one before; null: it is the first. */
  readonly signingRotatedAt: Date | null;
};

/** Every status that a deploy can be reported with. */
export const deployStatuses = ['succeeded', 'failed'] as const;
/** One of `deployStatuses`. */
export type DeployStatus = (typeof deployStatuses)[number];

/** One deploy of a project. The edge sends visitors to the newest one that succeeded. */
export type Deploy = {
  readonly id: string;
  readonly projectId: string;
  readonly status: DeployStatus;
  /** An http or https URL. */
  readonly upstream: string;
  /** In PEM, what the certificate of an https upstream must lead to; null: an authority that Node.js trusts. */
  readonly upstreamCa: string | null;
  readonly createdAt: Date;
};

/** A domain with everything that its row has; a job loads less (src/db/domains/domain-row.ts). */
export type DomainRecord = {
  readonly id: string;
  readonly projectId: string;
  /** A-labels in lower case without a trailing dot. */
  readonly hostname: string;
  /** The host name that the customer's record must point to. */
  readonly target: string;
  readonly status: DomainStatus;
  /** Fences jobs: one of an earlier epoch changes nothing. */
  readonly epoch: number;
  /** Counts every change of what the domain is: a save holds only while it is what was loaded. */
  readonly version: number;
  /** Checks that ran since it was added, verified again or lost its name. */
  readonly attempts: number;
  /** Of the last check, as JSON (`Finding[]`, the headline first). */
  readonly findings: unknown;
  readonly addedAt: Date;
  /** When its newest window began. */
  readonly pendingSince: Date;
  /** Null: no check has run since it was added. */
  readonly lastCheckedAt: Date | null;
  /** When its own job is due; null: it has none. */
  readonly nextCheckAt: Date | null;
  /** When it was last verified; null: not since it was last pending. */
  readonly verifiedAt: Date | null;
  /** The first of the two checks that make a live domain drifted; null: there is none. */
  readonly missedAt: Date | null;
  /** When an operator is notified unless a certificate comes; null: not planned. */
  readonly escalateAt: Date | null;
  readonly removedAt: Date | null;
  readonly driftedAt: Date | null;
  readonly failedAt: Date | null;
  /** When a batch checks it again; null: no batch does. */
  readonly recheckAt: Date | null;
  /** When its certificate is to be renewed; null: not planned. */
  readonly renewAt: Date | null;
  /** When its authority is next asked when it wants the certificate renewed (RFC 9773). */
  readonly renewalInfoAt: Date | null;
  /** What the name's addresses showed, and when (src/db/domains/served-certificates.ts). */
  readonly shown: unknown;
  /** Of the newest certificate. */
  readonly certificateEndsAt: Date | null;
  /** Somebody has its page open until then, about. */
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
  /** By which its authority knows the order; null: it has not been placed. */
  readonly orderUrl: string | null;
  /** In PEM, the leaf first; null until it is issued. */
  readonly chain: string | null;
  readonly issuer: string | null;
  readonly issuedAt: Date | null;
  readonly expiresAt: Date | null;
  /** Why the order ended without a certificate; null: it did not. */
  readonly problem: unknown;
  /** The last time that the authority could not be asked, or had not finished. */
  readonly setback: unknown;
  /** The window in which its authority wants it renewed, and its page on why (RFC 9773). */
  readonly renewalInfo: unknown;
  /** What it counts for of its authority's limits: keys of src/core/certificates/budget.ts. */
  readonly buckets: readonly string[];
  /** When it was issued, refused or superseded. */
  readonly endedAt: Date | null;
  readonly createdAt: Date;
};

/** What an operator was notified of. A domain has at most one that is open. */
export type Escalation = {
  readonly id: string;
  readonly domainId: string;
  /** An `EscalationCause`, or one that another version stored. */
  readonly cause: string;
  /** An `EscalationEvidence`, as JSON. */
  readonly evidence: unknown;
  /** What happens next by itself, in the words for customers. */
  readonly nextAction: string;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
};

/** A URL to which events are sent. The secrets are sealed; nothing here can be signed with. */
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
  /** Null: it is on. */
  readonly disabledAt: Date | null;
  /** A `DisabledReason` of src/core/operations/webhook-plan.ts. */
  readonly disabledReason: string | null;
  /** The first attempt that failed since one arrived, or since it was switched on or given its URL. */
  readonly failingSince: Date | null;
  /** Null: it exists. One that is deleted is found nowhere. */
  readonly deletedAt: Date | null;
};

/** Of an event on its way to a webhook. */
export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const;

/** A job that was set aside. */
export type Quarantine = {
  readonly queue: string;
  readonly jobId: string;
  /** Null where the job is no domain's. */
  readonly domainId: string | null;
  /** One line without secrets. */
  readonly reason: string;
  /** How often it was set aside; each time for longer. */
  readonly times: number;
  /** When it was last set aside. */
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
