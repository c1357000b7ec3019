/** Whether a CA would reach our edge at each address of a name: before an order, and in escalations. */
import type { Probe } from '../../core/certificates/escalation.ts';
import { type AddressReach, PROBE_MS } from '../../core/certificates/reach.ts';
import { addressesToAsk, failureOutcome } from '../served/probe.ts';
import { showsProof } from '../served/proof-certificate.ts';
import { type ReachRules, reachAddresses } from './challenge-path.ts';

export type ProbeRules = Omit<ReachRules, 'probes' | 'signal'> & {
  readonly probes: NonNullable<ReachRules['probes']>;
};

/** Concurrently; keeps their order. Network failures do not reject it. */
export async function probeAddresses(
  rules: ProbeRules,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Probe[]> {
  if (rules.challenge === 'http-01') {
    const all = { ...rules, signal: AbortSignal.timeout(PROBE_MS) };
    return (await reachAddresses(all, hostname, addresses, ['http'])).map(probeOf);
  }
  const distinct = addressesToAsk(addresses);
  return Promise.all(distinct.map((address) => probeByHandshake(rules, hostname, address)));
}

function probeOf({ address, outcome, answers }: AddressReach): Probe {
  switch (outcome) {
    case 'edge':
      return { address, outcome: 'reachable' };
    case 'other_answer':
    case 'bad_redirect':
    case 'no_tls':
      return { address, outcome: 'other_answer', status: answers.at(-1)?.status ?? null };
    case 'no_http':
      return { address, outcome: 'refused' };
    default:
      return { address, outcome };
  }
}

async function probeByHandshake(
  { probes, ports, isAllowed }: ProbeRules,
  hostname: string,
  address: string,
): Promise<Probe> {
  const asked = { address, method: 'tls-alpn-01' } as const;
  if (!isAllowed(address)) return { ...asked, outcome: 'reserved' };
  const token = probes.newToken(hostname);
  const answer = probes.answerTo(token, hostname) ?? '';
  const question = { address, port: ports.https, hostname, token, answer, timeoutMs: PROBE_MS };
  try {
    return (await showsProof(question))
      ? { ...asked, outcome: 'reachable' }
      : { ...asked, outcome: 'other_answer', status: null };
  } catch (fault) {
    return { ...asked, outcome: failureOutcome(fault) };
  }
}
