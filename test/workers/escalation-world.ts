/** One domain with at most one open escalation, in a real database, and a service around its jobs. */
import { randomUUID } from 'node:crypto';
import type { Probe } from '../../src/core/certificates/escalation.ts';
import type { DomainStatus } from '../../src/core/life/lifecycle.ts';
import type { Quarantined } from '../../src/db/domains/quarantine.ts';
import type { CheckSave, MoveResult } from '../../src/db/domains/transitions.ts';
import type { Prisma } from '../../src/db/generated/client.ts';
import { type OpenEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import type { IssueWork } from '../../src/db/issuance/issue-work.ts';
import type { Service } from '../../src/service/service.ts';
import { aDomain, noon } from '../support/builders.ts';
import {
  defaultConfig,
  namesOf,
  plainService,
  type ServiceMembers,
} from '../support/plain-service.ts';
import { type SeenAs, seenAs } from '../support/seen-as.ts';
import { openStoredDomains, type StoredDomains } from '../support/stored-domains.ts';

export type EscalationCase = {
  /** Null: the domain was removed since. */
  readonly work: IssueWork | null;
  readonly seen?: SeenAs | undefined;
  readonly open?: OpenEscalation | undefined;
  readonly probes?: readonly Probe[] | undefined;
  readonly quarantine?: Quarantined | undefined;
  readonly saves?: MoveResult | undefined;
  /** What the row has by the time of the save. */
  readonly row: { readonly status: DomainStatus; readonly certificateEndsAt?: Date | null };
};

const { id, projectId, hostname, target } = aDomain();

export async function openEscalationWorld() {
  const stored = await openStoredDomains();
  const { prisma } = stored.database;
  const project = { id: projectId, name: 'P', slug: 'escalations', plan: 'pro' } as const;
  await prisma.project.create({ data: project });
  const times = { status: 'verified', addedAt: noon, pendingSince: noon } as const;
  await prisma.domain.create({ data: { id, projectId, hostname, target, ...times } });

  async function reset({ open, row }: EscalationCase): Promise<void> {
    await prisma.escalation.deleteMany();
    await prisma.event.deleteMany();
    await prisma.domain.update({
      where: { id },
      data: { certificateEndsAt: null, ...row, epoch: 1, renewAt: null, escalateAt: null },
    });
    if (open === undefined) return;
    const { cause, evidence, openedAt } = open;
    const about = { cause, evidence: evidence as Prisma.InputJsonObject, nextAction: '', openedAt };
    await prisma.escalation.create({ data: { id: randomUUID(), domainId: id, ...about } });
  }

  return {
    close: () => stored.close(),
    /** Runs a job in this situation; returns what it did, and the rows afterwards. */
    async run<T>(given: EscalationCase, act: (service: Service) => Promise<T>, more = {}) {
      await reset(given);
      const around = serviceFor(stored, given, more);
      const result = await act(around.service);
      const row = await prisma.domain.findUniqueOrThrow({ where: { id } });
      return { ...around, result, row, opened: await openedIn(stored, given) };
    },
  };
}

function serviceFor({ database }: StoredDomains, given: EscalationCase, more: ServiceMembers) {
  const { work, seen = 'right', probes = [], quarantine = null, saves: saved } = given;
  const did: string[] = [];
  const saves: CheckSave[] = [];
  const service = plainService({
    // Waits before an escalation are settings of their own, which the scale leaves alone.
    config: { ...defaultConfig, timeScale: 172_800 },
    database,
    certificates: { loadWork: async () => work ?? undefined },
    observer: { observe: async () => seenAs(seen) },
    quarantine: { find: async () => quarantine },
    checks: {
      save: async (check) => {
        did.push('save');
        saves.push(check);
        return saved ?? { kind: 'saved', epoch: 2 };
      },
    },
    handshakes: {
      probe: async (name) => {
        did.push(`probe ${name}`);
        return probes;
      },
    },
    bringNow: async () => void did.push('attempt'),
    queues: {
      enqueue: async (queue, wanted) => void did.push(...namesOf(queue, wanted)),
      remove: async () => undefined,
    },
    log: {
      warn: ({ domain, cause }) => void did.push(`tell ${domain} ${cause}`),
      error: ({ err }) => {
        throw err;
      },
    },
    ...more,
  });
  return { service, did, saves };
}

/** Empty if the run left the escalations as they were. */
async function openedIn({ database: { prisma } }: StoredDomains, { open }: EscalationCase) {
  const row = await prisma.escalation.findFirst({ where: { closedAt: null } });
  if (row === null || (row.nextAction === '' && open !== undefined)) return [];
  const event = await prisma.event.findFirst({ where: { type: 'escalation.opened' } });
  const { summary = null } = (event?.data ?? {}) as { summary?: string }; // as recorded
  const { cause, nextAction, openedAt } = row;
  return [{ cause, nextAction, openedAt, summary, evidence: readEvidence(row.evidence) }];
}
