/** Name servers inside the zone whose address at the registrar is outdated (RFC 1034, section 4.2.1). */
import { shortList } from '../names/printable.ts';
import type { FamilyOf } from './finding.ts';
import type { DiagnosisInput } from './input.ts';
import type { GlueDifference } from './observation.ts';
import { foreign, keeperOf, listed } from './words.ts';

export type GlueFinding = {
  readonly code: 'glue_mismatch';
  readonly hostname: string;
  readonly zone: string;
  readonly parent: string;
  /** Sorted by server. */
  readonly servers: readonly GlueDifference[];
};

export const glue: FamilyOf<GlueFinding> = {
  glue_mismatch: {
    meaning: 'A name server has another address at the parent zone than in the zone',
    severity: 'warns',
    actor: 'customer',
    order: 195,
    check: glueMismatch,
    explain: ({ hostname, zone, parent, servers }) => {
      const keeper = keeperOf(zone, parent);
      const names = listed(servers.map(({ server }) => server));
      const isOne = servers.length === 1;
      return {
        summary: `The address of ${names} at ${keeper} is not the one in the zone ${foreign(zone)}. Lookups of ${hostname} can reach an old server.`,
        expected: `The same addresses of ${names} at ${keeper} and in the zone ${foreign(zone)}.`,
        found: shortList(
          servers.map(
            ({ server, atParent, atZone }) =>
              `${foreign(server)}: ${short(atParent)} at ${keeper}, ${short(atZone)} in the zone`,
          ),
          SHOWN_MAX,
          '; ',
        ),
        action: `At ${keeper}, change the address of the name server${isOne ? '' : 's'} ${names} (glue, also called host record) to the one in the zone. If the zone is wrong, change it there.`,
      };
    },
  },
};

const SHOWN_MAX = 3;

function short(addresses: readonly string[]): string {
  return shortList(addresses.map(foreign), SHOWN_MAX - 1);
}

function glueMismatch({
  observation: { delegation },
  expected: { hostname },
  hasNoZone,
}: DiagnosisInput): GlueFinding | undefined {
  if (delegation?.kind !== 'delegated' || hasNoZone) return undefined;
  const { zone, parent, glue: servers = [] } = delegation;
  return servers.length === 0
    ? undefined
    : { code: 'glue_mismatch', hostname, zone, parent, servers };
}
