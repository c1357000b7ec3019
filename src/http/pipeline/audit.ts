/**
 * The audit log: each change and its entry are committed together. Refusals for lack of rights get
 * an entry, too. Entries name fields, never values.
 */
import { holdsKey } from '../../config/api-key.ts';
import type { Access } from '../../core/access.ts';
import { isUuid } from '../../core/uuid.ts';
import type { NewAuditEntry } from '../../db/audit.ts';
import { createTransact, inTransaction } from '../../db/engine/transaction.ts';
import type { Service } from '../../service/service.ts';
import type { ApiResponse } from './errors.ts';
import { undoRefused } from './idempotency.ts';
import type { ApiKeyIdentity, Route } from './route.ts';

type AuditedRequest = {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
  readonly key: ApiKeyIdentity;
  readonly access: Access;
  readonly requestId: string;
  /** The client's. */
  readonly address: string;
  readonly body: unknown;
};

/** Changes with a key, and reads that show a secret. Pets are the data of a store, not its settings. */
export function isAudited({ method, scope, showsSecret }: Route): boolean {
  if (showsSecret === true) return true;
  return method !== 'GET' && scope !== null && scope !== 'pets:write';
}

type Audited = {
  /** Runs the change in one transaction, unless its route commits in steps. */
  run(change: () => Promise<ApiResponse>): Promise<ApiResponse>;
  /** Records that it lacked rights. */
  refused(answer: ApiResponse): Promise<void>;
};

export type Auditing = (request: AuditedRequest) => Audited;

export function createAuditing({
  audit,
  database,
  now,
}: Pick<Service, 'audit' | 'database' | 'now'>): Auditing {
  const transact = createTransact(database.prisma);
  return (request) => ({
    async run(change) {
      if (request.route.commitsInSteps === true) return inSteps(request, change);
      const recorded = async () => {
        const answer = await change();
        if (answer.status < 400) await audit.record(entryOf(request, answer, now()));
        return answer;
      };
      // It changes nothing here, and a transaction must not wait for others.
      if (request.route.waitsForOthers === true) return recorded();
      // With an Idempotency-Key, the caller undoes refused ones.
      return inTransaction() ? recorded() : undoRefused(transact, recorded);
    },
    async refused(answer) {
      await audit.record(entryOf(request, answer, now()));
    },
  });

  /** A crash leaves an entry without a status. */
  async function inSteps(request: AuditedRequest, change: () => Promise<ApiResponse>) {
    const id = await audit.record(entryOf(request, null, now()));
    const answer = await change();
    // Other refusals can come after some of the steps.
    if (answer.status === 404) await audit.withdraw(id);
    else await audit.finish(id, answer.status);
    return answer;
  }
}

function resultOf({ status, body }: ApiResponse) {
  const code = status < 400 ? undefined : (body as { code?: string } | undefined)?.code;
  return { status, code: code ?? null };
}

/** `answer`: null before the first step. */
function entryOf(
  { route, params, key, access, requestId, address, body }: AuditedRequest,
  answer: ApiResponse | null,
  at: Date,
): NewAuditEntry {
  // Without IDs, so that refused requests are few different entries.
  const named = answer?.status === 403 ? {} : params;
  const object = answer?.headers?.['location'] ?? pathOf(route.path, named);
  const [, inPath] = /^\/v1\/projects\/([^/]+)/.exec(object) ?? [];
  const projectId = inPath ?? (answer?.body as { projectId?: string } | undefined)?.projectId;
  return {
    operation: route.operationId,
    object,
    fields: typeof body === 'object' && body !== null ? Object.keys(body) : [],
    keyId: key.id,
    sessionId: key.sessionId,
    accountId: access.kind === 'account' ? access.accountId : uuidOrNull(params['accountId']),
    projectId: uuidOrNull(projectId),
    ofKeyId: /^\/v1\/keys\/(\w+)$/.exec(object)?.[1],
    address,
    requestId,
    ...(answer === null ? { status: null, code: null } : resultOf(answer)),
    at,
  };
}

function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && isUuid(text) ? text : null;
}

/** Up to its last parameter: the rest of the path is what is done. */
function pathOf(path: string, params: Readonly<Record<string, string>>): string {
  const [named = path] = /^.*:\w+/.exec(path) ?? [];
  return named.replace(/:(\w+)/g, (_, name: string) => shown(name, params[name] ?? ''));
}

/** Only what can be a name or an ID: other text can be long, or a secret. */
function shown(name: string, value: string): string {
  const isShown =
    name === 'keyId'
      ? /^(?:[0-9A-Za-z]{12}|configured)$/.test(value)
      : name === 'hostname'
        ? /^[\p{L}\p{N}\p{M}._-]{1,253}$/u.test(value) && !holdsKey(value)
        : isUuid(value);
  return isShown ? encodeURIComponent(value) : `:${name}`;
}
