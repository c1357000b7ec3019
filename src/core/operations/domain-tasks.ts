/** Tasks about domains and certificates. */
import { shortList } from '../names/printable.ts';
import { counted } from '../words.ts';
import { processInWords } from './fleet.ts';
import { queueNames } from './jobs.ts';
import { secondsInWords, type TaskRule } from './operator-task.ts';
import { thresholds } from './thresholds.ts';

/** A worker that reports it, or enough domains. In a small installation, half of all. */
export const resolversSilent: TaskRule = ({ ofOurResolvers: domains, attached, fleet }) => {
  const { atLeast, share, inAnyCase } = thresholds.ofOurResolvers;
  const isMany = domains >= atLeast && domains >= Math.min(attached * share, inAnyCase);
  const isMost = domains > 0 && domains * 2 >= attached;
  const failing = fleet.filter((one) => one.state === 'running' && one.resolversFailing);
  if (!isMany && !isMost && failing.length === 0) return null;
  const whose =
    failing.length === 0 ? '' : ` at ${shortList(failing.map(processInWords), 3, ' and at ')}`;
  return {
    code: 'resolvers_silent',
    urgency: 'act',
    summary: `Our resolvers${whose} couldn’t check ${counted(domains, 'domain')}.`,
    action:
      'Query each of DNS_SERVERS (default: the system’s) from the worker’s machine. Fix or replace the ones that fail. Domains keep their state, and are checked again within a minute of the repair.',
  };
};

export const workOverdue: TaskRule = ({ overdueSeconds, queuesPaused }) => {
  const late = queueNames
    .filter((queue) => overdueSeconds[queue] > thresholds.overdueSeconds[queue])
    .filter((queue) => !queuesPaused.includes(queue))
    .map((queue) => [queue, overdueSeconds[queue]] as const)
    .sort(([, a], [, b]) => b - a);
  const [worst] = late;
  if (worst === undefined) return null;
  const others = late.slice(1).map(([queue]) => queue);
  return {
    code: 'work_overdue',
    urgency: 'act',
    summary: `${worst[0]} is ${secondsInWords(worst[1])} late${others.length === 0 ? '' : `. Also late: ${others.join(', ')}`}.`,
    action:
      'Start more workers if the queue grows. If it does not, check the job of the oldest domain below.',
  };
};

export const certificatesEnded: TaskRule = ({ certificates: { ended } }) => {
  if (ended === 0) return null;
  return {
    code: 'certificates_ended',
    urgency: 'act',
    summary: `${counted(ended, 'served domain has', 'served domains have')} an expired certificate. Visitors see a warning.`,
    action: 'Start with those that expired first, below. Each says why it was not renewed.',
  };
};

export const openEscalations: TaskRule = ({ escalationsOpen }) => {
  if (escalationsOpen === 0) return null;
  return {
    code: 'escalations_open',
    urgency: 'act',
    summary: `The certificate of ${counted(escalationsOpen, 'domain')} could not be issued or renewed.`,
    action:
      'Each shows its cause and the next automatic step. Act on those caused by this platform.',
  };
};

export const quarantinedJobs: TaskRule = ({ jobsQuarantined }) => {
  if (jobsQuarantined === 0) return null;
  return {
    code: 'jobs_quarantined',
    urgency: 'act',
    summary: `${counted(jobsQuarantined, 'job')} failed repeatedly and ${jobsQuarantined === 1 ? 'was' : 'were'} quarantined.`,
    action:
      'The reason is a fault in this platform. Fix it, then retry the job on the domain’s page.',
  };
};

export const certificatesEndSoon: TaskRule = ({ certificates: { day } }) => {
  if (day === 0) return null;
  return {
    code: 'certificates_end_soon',
    urgency: 'act',
    summary: `${counted(day, 'certificate expires', 'certificates expire')} within a day.`,
    action:
      'Certificates are renewed with a third of their lifetime left. Start with those that expire first, below.',
  };
};

/** A worker with another configuration, or a CA that was removed from it today. */
export const unexpectedAuthority: TaskRule = ({ certificatesUnexpected: found }) => {
  if (found === 0) return null;
  return {
    code: 'certificates_unexpected',
    urgency: 'act',
    summary: `${counted(found, 'certificate')} of the last day ${found === 1 ? 'is' : 'are'} from a CA that is not configured. Browsers can reject ${found === 1 ? 'it' : 'them'}.`,
    action:
      'Compare ACME_DIRECTORY_URL and ACME_FALLBACK_DIRECTORY_URL of all workers. If you changed the CA today, this ends within a day.',
  };
};

export const silentOperators: TaskRule = ({ dnsOperators }) => {
  const silent = dnsOperators.filter(({ domains }) => domains >= thresholds.operatorDomains);
  if (silent.length === 0) return null;
  const named = silent.map(({ operator, domains }) => `${operator} (${domains} domains)`);
  return {
    code: 'dns_operator_silent',
    urgency: 'watch',
    summary: `We couldn’t check domains with name servers of ${shortList(named, 3)}.`,
    action:
      'These domains keep their state and are checked again. Check whether that operator has an outage or rate limits our queries.',
  };
};
