/** What is said where the name servers of a zone have different CAA records, of which some forbid. */

import type { Actor } from '../finding.ts';
import { areOfSeveralProviders } from '../providers.ts';
import { foreign, foreignName, lines, listed, type Words } from '../words.ts';
import type { CaaDifference } from './caa.ts';
import { placeOf } from './caa-place.ts';

/** What these words are made of: part of the finding `caa_blocks`. */
type Differing = {
  readonly hostname: string;
  readonly foundAt: string;
  readonly publishedAt?: string;
  readonly records: readonly string[];
  readonly toAdd: string;
  readonly differ?: CaaDifference;
};

/** Whether one server lets our authority issue where another one does not. */
export function isSplit<F extends Differing>(
  finding: F,
): finding is F & { readonly differ: CaaDifference } {
  return finding.differ?.servers.some(({ allows }) => allows) === true;
}

/** Servers of one provider follow each other by themselves; where all of them forbid, the records are the customer's. */
export function differingActor(differ: CaaDifference | undefined): Actor {
  const { allowing, forbidding } = sidesOf(differ?.servers ?? []);
  const isProviders = allowing.length > 0 && !areOfSeveralProviders(allowing, forbidding);
  return isProviders ? 'dns_provider' : 'customer';
}

function sidesOf(servers: CaaDifference['servers']) {
  const namesOf = (wanted: boolean) =>
    servers.filter(({ allows }) => allows === wanted).map(({ server }) => server);
  return { allowing: namesOf(true), forbidding: namesOf(false) };
}

/** `ns1.example.net says 0 issue "ca.example", ns2.example.net says that there are no CAA records` */
export function saidByEach({ servers }: CaaDifference): string {
  return lines(
    servers.map(({ server, records }) =>
      records.length === 0
        ? `${foreign(server)} says that there are no CAA records`
        : `${foreign(server)} says ${listed(records)}`,
    ),
  );
}

/** The words of a split: who has it right, and how the others come to have the same. */
export function splitWords(finding: Differing & { readonly differ: CaaDifference }): Words {
  const { hostname, foundAt, publishedAt, records, toAdd, differ } = finding;
  const sides = sidesOf(differ.servers);
  const [at, allowing, forbidding] = [
    foreignName(differ.at),
    listed(sides.allowing),
    listed(sides.forbidding),
  ];
  const isOne = sides.forbidding.length === 1;
  const above =
    foundAt === differ.at
      ? ''
      : `; without any, those of ${placeOf(foundAt, publishedAt)} count: ${listed(records)}`;
  return {
    summary: `The name servers differ in the CAA records of ${at}: ${forbidding} ${isOne ? 'does' : 'do'} not let our certificate authority issue for ${hostname}, and it may ask any of them.`,
    expected: `At every name server the same answer for ${at}, as at ${allowing}, or CAA ${toAdd}`,
    found: `For ${at}, ${saidByEach(differ)}${above}`,
    action: areOfSeveralProviders(sides.allowing, sides.forbidding)
      ? `These name servers seem to belong to different DNS providers, which take nothing over from each other. Make the CAA records of ${at} at ${forbidding} the same as at ${allowing}, or use the name servers of only one provider.`
      : `If you have just changed these records, nothing to do but wait for your DNS provider, whose servers take them over from each other. We check again automatically. If it is still so after an hour, ask your provider why ${forbidding} ${isOne ? 'has' : 'have'} other CAA records of ${at} than ${allowing}.`,
  };
}
