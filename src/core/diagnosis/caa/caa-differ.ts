/** Text for name servers that differ in their CAA records, if some forbid. */
import type { Actor } from '../finding.ts';
import { areOfSeveralProviders } from '../providers.ts';
import { foreign, foreignName, lines, listed, type Words } from '../words.ts';
import type { CaaDifference } from './caa.ts';

/** Of the finding `caa_blocks`. */
type Differing = {
  readonly hostname: string;
  readonly foundAt: string;
  readonly publishedAt?: string;
  readonly records: readonly string[];
  readonly toAdd: string;
  readonly differ?: CaaDifference;
};

/** Some servers let our CA issue. */
export function isSplit<F extends Differing>(
  finding: F,
): finding is F & { readonly differ: CaaDifference } {
  return finding.differ?.servers.some(({ allows }) => allows) === true;
}

/** Servers of one provider copy from each other; if all forbid, the customer must change the records. */
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

/** `ns1.example.net has 0 issue "ca.example", ns2.example.net has no CAA records`. */
export function saidByEach({ servers }: CaaDifference): string {
  return lines(
    servers.map(
      ({ server, records }) =>
        `${foreign(server)} has ${records.length === 0 ? 'no CAA records' : listed(records)}`,
    ),
  );
}

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
      : `; without any, those of ${caaPlace(foundAt, publishedAt)} count: ${listed(records)}`;
  return {
    summary: `The name servers differ in the CAA records of ${at}. ${forbidding} ${isOne ? 'does' : 'do'} not let our certificate authority issue for ${hostname}, and it can query any of them.`,
    expected: `At every name server the same records for ${at} as at ${allowing}, or CAA ${toAdd}`,
    found: `For ${at}, ${saidByEach(differ)}${above}`,
    action: areOfSeveralProviders(sides.allowing, sides.forbidding)
      ? `These name servers seem to belong to different DNS providers, which do not copy records from each other. Make the CAA records of ${at} at ${forbidding} the same as at ${allowing}, or use the name servers of only one provider.`
      : `If you just changed these records, wait: your DNS provider is updating its name servers. We check again automatically. If it lasts more than an hour, ask your provider why ${forbidding} ${isOne ? 'has' : 'have'} other CAA records of ${at} than ${allowing}.`,
  };
}

/** The name that holds the records, and the one that leads there. */
export function caaPlace(name: string, publishedAt: string | undefined): string {
  return publishedAt === undefined
    ? foreignName(name)
    : `${foreignName(publishedAt)}, where ${foreignName(name)} leads`;
}
