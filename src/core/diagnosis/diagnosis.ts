/** What an observation means: the verdict that moves a domain, and everything worth saying about it. */
import type { Verdict } from '../life/lifecycle.ts';
import { apexPartial, cnameAtApex, foreignAtApex } from './apex-checks.ts';
import { caaBlocks, caaUnknown, caaWarns } from './caa-checks.ts';
import { type Finding, severities } from './findings.ts';
import { type Check, type Expected, gather, type Look } from './look.ts';
import type { Observation } from './observation.ts';
import {
  cnameLoop,
  cnameMismatch,
  conflicting,
  isProxiedHere,
  mailAtName,
  nameServersDisagree,
  proxied,
  recordMissing,
  wildcardAnswers,
} from './pointing-checks.ts';
import type { Provider } from './providers.ts';
import {
  delegationMismatch,
  dnsUnknown,
  domainUnregistered,
  nameServerLame,
  nameServerUnreachable,
  reservedAddress,
} from './server-checks.ts';
import { dnssecBogus, oldAnswerCached } from './world-checks.ts';

export type { Expected } from './look.ts';

/**
 * `findings[0]` is the headline: the first one that blocks, where any does. A verdict other than `right` always has
 * one: nobody waits without being told what for. `provider`: who runs the zone's servers, where we know them.
 */
export type Diagnosis = {
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
  readonly provider: Provider | null;
};

/** In the order in which a customer would mend things. A new finding is one more check here. */
const checks: readonly Check[] = [
  domainUnregistered,
  nameServersDisagree,
  (look) => (isProxiedHere(look) ? proxied(look) : undefined),
  (look) => conflicting('conflicting_a', look),
  (look) => conflicting('conflicting_aaaa', look),
  cnameLoop,
  cnameMismatch,
  cnameAtApex,
  foreignAtApex,
  // Elsewhere the addresses may be those of another site behind the same proxy.
  (look) => (isProxiedHere(look) ? undefined : proxied(look)),
  recordMissing,
  dnssecBogus,
  caaBlocks,
  caaUnknown,
  mailAtName,
  nameServerLame,
  nameServerUnreachable,
  delegationMismatch,
  wildcardAnswers,
  reservedAddress,
  caaWarns,
  apexPartial,
  oldAnswerCached,
  dnsUnknown,
];

/** Judges one look at a host name. Pure; never throws. */
export function diagnose(observation: Observation, expected: Expected): Diagnosis {
  const look = gather(observation, expected);
  const found = checks.flatMap((check) => check(look) ?? []);
  const findings = (['blocks', 'warns', 'informs'] as const).flatMap((severity) =>
    found.filter(({ code }) => severities[code] === severity),
  );
  return { verdict: verdictOf(look, findings), findings, provider: look.provider };
}

/**
 * What blocks makes it wrong. A CAA question without an answer blocks as well, but it is a refusal to the authority and
 * not something a zone said: nothing is taken back for it.
 */
function verdictOf({ pointing }: Look, findings: readonly Finding[]): Verdict {
  const blocking = findings.filter(({ code }) => severities[code] === 'blocks');
  if (blocking.some(({ code }) => code !== 'caa_unknown')) return 'wrong';
  return pointing === 'right' && blocking.length === 0 ? 'right' : 'unknown';
}
