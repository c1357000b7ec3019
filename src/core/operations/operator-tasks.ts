/** What an operator has to do now, from the state of the installation. */
import {
  certificatesEnded,
  certificatesEndSoon,
  openEscalations,
  quarantinedJobs,
  resolversSilent,
  silentOperators,
  unexpectedAuthority,
  workOverdue,
} from './domain-tasks.ts';
import {
  connectionsExhausted,
  cutOffProcesses,
  differingProcesses,
  noEdge,
  noWorker,
  pausedQueues,
  queueAway,
  redisFull,
  refusedProcesses,
} from './machine-tasks.ts';
import type { OperatorTask, OperatorTaskCode, TaskRule, Vitals } from './operator-task.ts';

/** In the order in which to fix them. */
const rules: readonly TaskRule[] = [
  queueAway,
  noWorker,
  noEdge,
  refusedProcesses,
  cutOffProcesses,
  pausedQueues,
  redisFull,
  connectionsExhausted,
  resolversSilent,
  workOverdue,
  unexpectedAuthority,
  certificatesEnded,
  openEscalations,
  quarantinedJobs,
  certificatesEndSoon,
  silentOperators,
  differingProcesses,
];

/** Hidden while their cause is shown. */
const consequences: { readonly [C in OperatorTaskCode]?: readonly OperatorTaskCode[] } = {
  queue_away: ['work_overdue', 'no_worker', 'process_cut_off'],
  no_worker: ['work_overdue'],
  resolvers_silent: ['dns_operator_silent'],
};

/** One task per cause, however many domains it concerns. */
export function operatorTasksOf(vitals: Vitals): readonly OperatorTask[] {
  const tasks = rules.flatMap((rule) => rule(vitals) ?? []);
  const explained = new Set(tasks.flatMap(({ code }) => consequences[code] ?? []));
  return tasks.filter(({ code }) => !explained.has(code));
}
