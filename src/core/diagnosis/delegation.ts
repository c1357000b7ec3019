/** Findings about who answers for the zone: its registration, its delegation, and servers that differ. */
import type { FamilyOf } from './finding.ts';
import { byText, type DiagnosisInput, unique } from './input.ts';
import type { ParkingKind } from './parking.ts';
import { areOfSeveralProviders } from './providers.ts';
import { isOther } from './server-pointing.ts';
import { showing } from './shows.ts';
import { foreign, foreignName, keeperOf, lines, listed, recordIn, type Wanted } from './words.ts';

/** What can be wrong with the way to the zone. */
export type DelegationFinding =
  | {
      readonly code: 'domain_unregistered';
      readonly hostname: string;
      readonly domain: string;
      /** The zone that should delegate it, such as `com`. */
      readonly registry: string;
    }
  /** The registry knows the domain, and lists no name servers for it. */
  | {
      readonly code: 'no_name_servers';
      readonly hostname: string;
      readonly domain: string;
      readonly registry: string;
    }
  /** Its name servers are those of a parking page, or of a registrar's notice; `by`: whose, null: not known. */
  | {
      readonly code: 'domain_parked';
      readonly hostname: string;
      readonly domain: string;
      readonly kind: ParkingKind;
      readonly by: string | null;
      readonly servers: readonly string[];
    }
  /** `right`: the servers that have the record; `others`: those that do not, with what they show instead. */
  | (Wanted & {
      readonly code: 'name_servers_disagree';
      readonly right: readonly string[];
      readonly others: readonly { readonly server: string; readonly shows: string }[];
    })
  | {
      readonly code: 'delegation_mismatch';
      readonly hostname: string;
      readonly zone: string;
      readonly parent: string;
      /** Server names, sorted; so are the others. */
      readonly onlyAtParent: readonly string[];
      readonly onlyAtZone: readonly string[];
    };

/** The rules of these findings, by code; findings.ts puts them beside those of the other families. */
export const delegation: FamilyOf<DelegationFinding> = {
  domain_unregistered: {
    meaning: 'Nobody has registered the domain',
    severity: 'blocks',
    actor: 'customer',
    order: 10,
    check: domainUnregistered,
    explain: ({ hostname, ...finding }) => {
      const domain = foreign(finding.domain);
      return {
        summary:
          hostname === finding.domain
            ? `${domain} does not exist at its registry.`
            : `${domain} does not exist at its registry, so ${hostname} cannot exist.`,
        expected: `${domain} at its registry.`,
        found: `The registry of .${foreign(finding.registry)} says that ${domain} does not exist (NXDOMAIN).`,
        action: `Check the spelling. If it is right, register ${domain}. If it is yours already, see at your registrar why the registry does not have it: expired, on hold, or without name servers. A new domain shows up within minutes to hours.`,
      };
    },
  },
  no_name_servers: {
    meaning: 'The domain is registered, but has no name servers',
    severity: 'blocks',
    actor: 'customer',
    order: 11,
    check: noNameServers,
    explain: ({ hostname, ...finding }) => {
      const [domain, registry] = [foreign(finding.domain), foreign(finding.registry)];
      return {
        summary: `${domain} is registered, but has no name servers, so nobody can look up ${hostname}.`,
        expected: `Name servers for ${domain} at your registrar.`,
        found: `The registry of .${registry} knows ${domain}, and lists no name servers for it.`,
        action: `At your registrar, enter the name servers of the provider where you want to edit the records of ${domain}. They show up within minutes to hours.`,
      };
    },
  },
  domain_parked: {
    meaning: "The domain has the name servers of a parking page, or of a registrar's notice",
    severity: 'blocks',
    actor: 'customer',
    order: 12,
    check: domainParked,
    explain: (finding) => {
      const { hostname, kind, servers } = finding;
      const [domain, by] = [
        foreign(finding.domain),
        finding.by === null ? '' : ` of ${foreign(finding.by)}`,
      ];
      return {
        summary: `${domain} ${parkedWords[kind].state}: it has name servers${by} that hold no records of yours, so ${hostname} cannot point here.`,
        expected: `Name servers for ${domain} at which you can edit its records.`,
        found: `Name servers at your registrar: ${listed(servers)}`,
        action: parkedWords[kind].action(domain),
      };
    },
  },
  name_servers_disagree: {
    meaning: 'Some name servers have the record, others do not',
    severity: 'blocks',
    actor: 'dns_provider',
    order: 20,
    actorFor: (finding) => (isOfSeveralProviders(finding) ? 'customer' : 'dns_provider'),
    check: nameServersDisagree,
    explain: (finding) => {
      const { hostname, right, others } = finding;
      const all = new Set([...right, ...others.map(({ server }) => server)]).size;
      const have = `${right.length} of ${all} of your name servers ${right.length === 1 ? 'has' : 'have'}`;
      const still = others.map(
        ({ server, shows }) => `${foreign(server)} still shows ${foreignName(shows)}`,
      );
      return {
        summary: isOfSeveralProviders(finding)
          ? `${have} the record of ${hostname}; those of another DNS provider do not.`
          : `${have} the record of ${hostname}; the others have yet to follow.`,
        expected: `At every name server: ${recordIn(finding)}`,
        found: `${have} the record: ${listed(right)}; ${lines(still)}`,
        action: agreeing(finding),
      };
    },
  },
  delegation_mismatch: {
    meaning: 'The zone and the one above list different name servers',
    severity: 'warns',
    actor: 'customer',
    order: 190,
    check: delegationMismatch,
    explain: (finding) => {
      const { hostname, onlyAtParent, onlyAtZone } = finding;
      const zone = foreign(finding.zone);
      const keeper = keeperOf(finding.zone);
      const above = keeper === 'the zone above' ? `${keeper} (${foreign(finding.parent)})` : keeper;
      return {
        summary: `${above.charAt(0).toUpperCase()}${above.slice(1)} lists other name servers for ${zone} than ${zone} itself, so not everybody may see the same ${hostname}.`,
        expected: `The same name servers at ${above} and in the NS records of ${zone}.`,
        found: `Only at ${above}: ${orNone(onlyAtParent)}; only in the zone: ${orNone(onlyAtZone)}`,
        action: `At ${above}, enter the name servers of the provider where you edit the records of ${zone}, and only those. After a move to another provider it takes up to two days until everybody follows; until then keep the records at both.`,
      };
    },
  },
};

/** Nobody has registered the domain: there is nothing that a record could stand in. */
function domainUnregistered({
  observation,
  expected,
}: DiagnosisInput): (DelegationFinding & { readonly code: 'domain_unregistered' }) | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'unregistered') return undefined;
  const { zone: domain, parent: registry } = delegation;
  return { code: 'domain_unregistered', hostname: expected.hostname, domain, registry };
}

/** What the name servers say of the domain, and what to do. */
const parkedWords: {
  readonly [K in ParkingKind]: {
    readonly state: string;
    readonly action: (domain: string) => string;
  };
} = {
  parked: {
    state: 'is parked',
    action: (domain) =>
      `At your registrar, enter the name servers of the provider where you want to edit the records of ${domain}, in place of these. Then create the record there.`,
  },
  expired: {
    state: 'seems to have expired',
    action: (domain) =>
      `Renew ${domain} at your registrar. It puts your own name servers back, mostly within hours; then we check again automatically.`,
  },
  unverified: {
    state: 'is suspended',
    action: (domain) =>
      `Confirm your contact data for ${domain} at your registrar: it sends an email with a link, and keeps the domain suspended until you follow it.`,
  },
};

/** The registry has the domain, but whoever holds it has entered no name servers, or they were taken away. */
function noNameServers({
  observation: { delegation },
  expected: { hostname },
  hasNoZone,
}: DiagnosisInput): (DelegationFinding & { readonly code: 'no_name_servers' }) | undefined {
  if (delegation?.kind !== 'undelegated' || !hasNoZone) return undefined;
  const { zone: domain, parent: registry } = delegation;
  return { code: 'no_name_servers', hostname, domain, registry };
}

function domainParked({
  parking,
  zone: domain,
  expected: { hostname },
}: DiagnosisInput): (DelegationFinding & { readonly code: 'domain_parked' }) | undefined {
  return parking && { code: 'domain_parked', hostname, domain, ...parking };
}

/** Some servers of the zone have the record already, or still. */
function nameServersDisagree(
  input: DiagnosisInput,
): (DelegationFinding & { readonly code: 'name_servers_disagree' }) | undefined {
  if (!input.disagree) return undefined;
  const { servers } = input;
  const right = servers.filter(({ pointing }) => pointing.kind === 'right');
  const others = servers.filter(({ pointing }) => isOther(pointing));
  return {
    code: 'name_servers_disagree',
    ...input.wanted,
    right: unique(right.map(({ view }) => view.server)),
    others: others
      .map(({ view }) => ({ server: view.server, shows: showing(view) }))
      .sort(byText(({ server, shows }) => `${server} ${shows}`)),
  };
}

/** The zone above names other servers than the zone itself: a move to another provider that was not finished. */
function delegationMismatch({
  observation,
  expected,
}: DiagnosisInput): (DelegationFinding & { readonly code: 'delegation_mismatch' }) | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'delegated') return undefined;
  const { zone, parent, atParent, atZone } = delegation;
  // An empty list is no answer: a zone has at least one server, and was delegated to one.
  if (atZone === null || atZone.length === 0 || atParent.length === 0) return undefined;
  const onlyAtParent = unique(atParent.filter((name) => !atZone.includes(name)));
  const onlyAtZone = unique(atZone.filter((name) => !atParent.includes(name)));
  if (onlyAtParent.length + onlyAtZone.length === 0) return undefined;
  const { hostname } = expected;
  return { code: 'delegation_mismatch', hostname, zone, parent, onlyAtParent, onlyAtZone };
}

type Disagreeing = DelegationFinding & { readonly code: 'name_servers_disagree' };

/** Whether the zone is held at two providers, which take nothing over from each other. */
function isOfSeveralProviders({ right, others }: Disagreeing): boolean {
  return areOfSeveralProviders(
    right,
    others.map(({ server }) => server),
  );
}

/** Servers of one provider follow each other by themselves; those of several never do. */
function agreeing(finding: Disagreeing): string {
  const { hostname, zone = hostname } = finding;
  return isOfSeveralProviders(finding)
    ? `These name servers seem to belong to different DNS providers, which take nothing over from each other. Create the record at both, or list the name servers of only one of them at ${finding.zone === undefined ? 'your registrar' : keeperOf(zone)}.`
    : 'Nothing to do but wait for your DNS provider, whose servers take the record over from each other. We check again within seconds. If it is still so after an hour, ask your provider why these servers stay behind.';
}

function orNone(names: readonly string[]): string {
  return names.length === 0 ? 'none' : listed(names);
}
