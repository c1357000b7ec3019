/** Findings in plain words: what is wrong, what should be there, what is there, and exactly what to do. */
import {
  type Actor,
  actors,
  type Finding,
  type FindingCode,
  type FindingOf,
  type Severity,
  severities,
} from './findings.ts';
import type { Words, WordsFor } from './words.ts';
import { apexWords } from './words-apex.ts';
import { caaWords, isOurQuestion } from './words-caa.ts';
import { claimWords } from './words-claims.ts';
import { type ExplainedHint, hintsIn } from './words-hints.ts';
import { pointingWords } from './words-pointing.ts';
import { isAtServers, isOfSeveralProviders, isOurTrouble, serverWords } from './words-servers.ts';
import { bogusActor, worldWords } from './words-world.ts';

/** Every text is a sentence or a short line, safe to show anywhere but in HTML without escaping. */
export type Explanation = Words & {
  readonly code: FindingCode;
  readonly severity: Severity;
  readonly actor: Actor;
  /** The likely slips behind it; empty where none is known. */
  readonly hints: readonly ExplainedHint[];
};

/** Puts a finding into words for the one who has to act. */
export function explain(finding: Finding): Explanation {
  const { code } = finding;
  return {
    code,
    severity: severities[code],
    actor: actorFor(finding),
    ...inWords(finding),
    hints: hintsIn(finding),
  };
}

/** Who has to act, where the evidence says more than the code. */
function actorFor(finding: Finding): Actor {
  switch (finding.code) {
    case 'dns_unknown':
      return isOurTrouble(finding) ? 'platform' : actors.dns_unknown;
    case 'dnssec_bogus':
      return bogusActor(finding.errors);
    case 'caa_blocks':
      return finding.ours ? 'platform' : actors.caa_blocks;
    case 'caa_unknown':
      return isOurQuestion(finding) ? 'platform' : actors.caa_unknown;
    case 'name_servers_disagree':
      return isOfSeveralProviders(finding) ? 'customer' : actors.name_servers_disagree;
    case 'reserved_address':
      return isAtServers(finding) ? 'dns_provider' : actors.reserved_address;
    default:
      return actors[finding.code];
  }
}

/** Generic, so that the compiler sees that a finding and its words belong together. */
function inWords<C extends FindingCode>(finding: FindingOf<C>): Words {
  return words[finding.code](finding);
}

/** A code without words does not compile. */
const words: WordsFor<FindingCode> = {
  ...pointingWords,
  ...apexWords,
  ...serverWords,
  ...worldWords,
  ...caaWords,
  ...claimWords,
};
