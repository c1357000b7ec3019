/** The queues and what their jobs carry: ids only, never state. */

export const queueNames = ['check-dns', 'issue-certificate', 'escalate-certificate'] as const;
export type QueueName = (typeof queueNames)[number];

/** `epoch` fences the job: one of an earlier life of the domain changes nothing. */
export type DomainJob = { readonly domainId: string; readonly epoch: number };

/** One job a domain and life in each queue; adding it twice is adding it once. */
export function jobId({ domainId, epoch }: DomainJob): string {
  return `${domainId}.${epoch}`;
}
