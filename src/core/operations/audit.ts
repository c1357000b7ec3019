/** The audit log: who changed what, on which account and object, from where, when. It holds names and ids, never contents. */
import { DAY } from '../time.ts';

/** What an entry can be about, and what its id is. */
export const auditedKinds = {
  account: 'An account, by its id',
  key: 'An API key, by its id',
  project: 'A project, by its id; its settings and its signing secret, too',
  deploy: 'A deploy of a project, by its id',
  domain: 'A domain of a project, by its host name',
  webhook: 'A webhook, of a project or of operators, by its id',
  escalation: 'An escalation, by its id',
  queue: 'A queue or one of its jobs: `check-dns`, or `check-dns/<job>`',
  session: 'A session of the dashboard, by its id',
  installation: 'The installation itself, by the name of its part',
} as const;
/** One of `auditedKinds`. */
export type AuditedKind = keyof typeof auditedKinds;

/**
 * What something was done to. With a `projectId` the entry belongs to that project's account; without one the account is
 * named, null for the installation.
 */
export type Subject = {
  readonly kind: AuditedKind;
  /** As it is stored: a UUID, a host name in A-labels, the id of a key. Of what was there, never what somebody typed. */
  readonly id: string;
} & ({ readonly projectId: string } | { readonly accountId: string | null });

/**
 * `done`: with its effect, in one transaction. `refused`: who asked may not. `failed`: a fault, nothing is known to have been
 * changed. `unknown`: begun outside of the database, and its end was never reported.
 */
export const outcomes = ['done', 'refused', 'failed', 'unknown'] as const;
/** One of `outcomes`. */
export type AuditOutcome = (typeof outcomes)[number];

/** Who did it, and from where, as far as anybody knows. */
export type Doer = {
  /** Null: nobody with a key, as the command line on the database itself. */
  readonly keyId: string | null;
  /** The id of a session of the dashboard, never what its cookie carries. */
  readonly sessionId: string | null;
  /** Whether it was the installation: one of its keys, also where that acted for an account, or nobody with a key. */
  readonly byInstallation: boolean;
  /** Of the client, behind trusted proxies as they saw it. */
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly requestId: string | null;
};

/** An entry of the log. */
export type AuditEntry = Doer & {
  readonly id: string;
  readonly at: Date;
  /** Whose the object is; null: the installation's. */
  readonly accountId: string | null;
  readonly projectId: string | null;
  /** Of the API; or `rotateKeys`, `queues:<method> <path>`, and what is done with sessions (src/dashboard/session-acts.ts). */
  readonly operationId: string;
  readonly objectKind: string;
  /** Null where the refusal came before anybody knew whether there is such an object. */
  readonly objectId: string | null;
  readonly outcome: AuditOutcome;
  /** Of the refusal or the fault; null where it was done. */
  readonly code: string | null;
};

/** The entry as the account sees it: that the installation did it, but not who of it, nor from where. */
export function withoutOperator(entry: AuditEntry): AuditEntry {
  if (!entry.byInstallation) return entry;
  return {
    ...entry,
    keyId: null,
    sessionId: null,
    address: null,
    userAgent: null,
    requestId: null,
  };
}

/** How long an entry is kept; docs/operations.md publishes it. A year, and a month to look into it. */
export const AUDIT_KEPT_MS = 400 * DAY;

/** Our choice: enough to recognise a browser or a client by. */
const USER_AGENT_MAX = 200;

/** What is kept of a `User-Agent`: printable ASCII, cut to 200 characters; null where nothing is left. */
export function userAgentIn(header: string | undefined): string | null {
  const text = header?.replace(/[^\x20-\x7e]+/g, ' ').trim() ?? '';
  return text === '' ? null : text.slice(0, USER_AGENT_MAX);
}
