import type { FamilyOf, FindingIn } from './finding.ts';
import { byText, type DiagnosisInput, unique } from './input.ts';
import type { ParkingKind } from './parking.ts';
import { areOfSeveralProviders } from './providers.ts';
import { isOther } from './server-pointing.ts';
import { showing } from './shows.ts';
import { foreign, foreignName, keeperOf, lines, listed, recordIn, type Wanted } from './words.ts';

export type DelegationFinding =
  | {
      readonly code: 'domain_unregistered';
      readonly hostname: string;
      readonly domain: string;
      /** The parent zone, such as `com`. */
      readonly registry: string;
    }
  /** The registry has the name, but lists no name servers. */
  | {
      readonly code: 'no_name_servers';
      readonly hostname: string;
      readonly domain: string;
      readonly registry: string;
    }
  /** `by`: null if unknown. */
  | {
      readonly code: 'domain_parked';
      readonly hostname: string;
      readonly domain: string;
      readonly kind: ParkingKind;
      readonly by: string | null;
      readonly servers: readonly string[];
    }
  /** `right`: servers that have the record. `others`: the rest, with what they return. */
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
      /** Sorted, like `onlyAtZone`. */
      readonly onlyAtParent: readonly string[];
      readonly onlyAtZone: readonly string[];
    };

export const delegation: FamilyOf<DelegationFinding> = {
  domain_unregistered: {
    meaning: 'The domain is not in the DNS of its registry',
    severity: 'blocks',
    actor: 'customer',
    order: 10,
    check: domainUnregistered,
    leads: 'elsewhere',
    explain: ({ hostname, ...finding }) => {
      const domain = foreign(finding.domain);
      return {
        summary:
          hostname === finding.domain
            ? `${domain} is not in the DNS of its registry.`
            : `${domain} is not in the DNS of its registry, so ${hostname} cannot exist.`,
        expected: `${domain}, with its name servers, in the DNS of the registry.`,
        found: `The name servers of .${foreign(finding.registry)} say that ${domain} does not exist (NXDOMAIN).`,
        action: `Check the spelling. If the domain is yours, check at your registrar that it has name servers, has not expired and is not on hold: many registries remove such domains from the DNS. If it is not registered yet, register ${domain}. Changes appear within minutes to hours.`,
      };
    },
  },
  no_name_servers: {
    meaning: 'The domain exists at its registry, but without name servers',
    severity: 'blocks',
    actor: 'customer',
    order: 11,
    check: noNameServers,
    leads: 'elsewhere',
    explain: ({ hostname, ...finding }) => {
      const [domain, registry] = [foreign(finding.domain), foreign(finding.registry)];
      return {
        summary: `${domain} exists at its registry, but has no name servers, so ${hostname} cannot be looked up.`,
        expected: `Name servers for ${domain} at your registrar.`,
        found: `The registry of .${registry} has ${domain}, but lists no name servers for it.`,
        action: `At your registrar, enter the name servers of the provider where you want to edit the records of ${domain}. If they are entered already, renew the domain or ask the registrar to end the hold. They appear within minutes to hours.`,
      };
    },
  },
  domain_parked: {
    meaning: 'The domain has the name servers of a parking page or a registrar’s notice',
    severity: 'blocks',
    actor: 'customer',
    order: 12,
    check: domainParked,
    leads: 'elsewhere',
    explain: ({ hostname, kind, servers, by, ...finding }) => {
      const domain = foreign(finding.domain);
      const whose = by === null ? '' : ` of ${foreign(by)}`;
      return {
        summary: `${domain} ${parkedWords[kind].state}. Its name servers${whose} do not hold your records, so ${hostname} cannot point here.`,
        expected: `Name servers for ${domain} where you can edit its records.`,
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
    leads: 'here',
    explain: (finding) => {
      const { hostname, right, others } = finding;
      const all = new Set([...right, ...others.map(({ server }) => server)]).size;
      const have =
        all === 1
          ? 'Some addresses of your name server have'
          : `${right.length} of ${all} of your name servers ${right.length === 1 ? 'has' : 'have'}`;
      const still = others.map(
        ({ server, shows }) => `${foreign(server)} still shows ${foreignName(shows)}`,
      );
      return {
        summary: isOfSeveralProviders(finding)
          ? `${have} the record of ${hostname}; those of another DNS provider do not.`
          : `${have} the record of ${hostname}; the others do not have it yet.`,
        expected: `At every name server: ${recordIn(finding)}`,
        found: `${have} the record: ${listed(right)}; ${lines(still)}`,
        action: agreeing(finding),
      };
    },
  },
  delegation_mismatch: {
    meaning: 'The zone and its parent list different name servers',
    severity: 'warns',
    actor: 'customer',
    order: 190,
    check: delegationMismatch,
    explain: (finding) => {
      const { hostname, onlyAtParent, onlyAtZone } = finding;
      const zone = foreign(finding.zone);
      const above = keeperOf(finding.zone, finding.parent);
      return {
        summary: `${above.charAt(0).toUpperCase()}${above.slice(1)} lists other name servers for ${zone} than ${zone} itself, so visitors can get different answers for ${hostname}.`,
        expected: `The same name servers at ${above} and in the NS records of ${zone}.`,
        found: `Only at ${above}: ${orNone(onlyAtParent)}; only in the zone: ${orNone(onlyAtZone)}`,
        action: `At ${above}, enter the name servers of the provider where you edit the records of ${zone}, and only those. After a move to another provider, resolvers follow within two days. Until then keep the records at both.`,
      };
    },
  },
};

function domainUnregistered({
  observation,
  expected,
}: DiagnosisInput): FindingIn<DelegationFinding, 'domain_unregistered'> | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'unregistered') return undefined;
  const { zone: domain, parent: registry } = delegation;
  return { code: 'domain_unregistered', hostname: expected.hostname, domain, registry };
}

const parkedWords: {
  readonly [K in ParkingKind]: {
    readonly state: string;
    readonly action: (domain: string) => string;
  };
} = {
  parked: {
    state: 'is parked',
    action: (domain) =>
      `At your registrar, replace these with the name servers of the provider where you want to edit the records of ${domain}. Then create the record there.`,
  },
  expired: {
    state: 'seems to have expired',
    action: (domain) =>
      `Renew ${domain} at your registrar. It restores your own name servers, usually within hours. We check again automatically.`,
  },
  unverified: {
    state: 'is suspended',
    action: (domain) =>
      `Confirm your contact data for ${domain} at your registrar: it sent an email with a link, and suspends the domain until you follow it.`,
  },
};

function noNameServers({
  observation: { delegation },
  expected: { hostname },
  hasNoZone,
}: DiagnosisInput): FindingIn<DelegationFinding, 'no_name_servers'> | undefined {
  if (delegation?.kind !== 'undelegated' || !hasNoZone) return undefined;
  return {
    code: 'no_name_servers',
    hostname,
    domain: delegation.zone,
    registry: delegation.parent,
  };
}

function domainParked({
  parking,
  zone: domain,
  expected: { hostname },
}: DiagnosisInput): FindingIn<DelegationFinding, 'domain_parked'> | undefined {
  return parking === null ? undefined : { code: 'domain_parked', hostname, domain, ...parking };
}

/** Some of the zone's servers already have the record, or still have it. */
function nameServersDisagree(
  input: DiagnosisInput,
): FindingIn<DelegationFinding, 'name_servers_disagree'> | undefined {
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

/** An unfinished change of provider. */
function delegationMismatch({
  observation,
  expected,
}: DiagnosisInput): FindingIn<DelegationFinding, 'delegation_mismatch'> | undefined {
  const { delegation } = observation;
  if (delegation?.kind !== 'delegated') return undefined;
  const { zone, parent, atParent, atZone } = delegation;
  // An empty list is not usable: a delegated zone has at least one name server.
  if (atZone === null || atZone.length === 0 || atParent.length === 0) return undefined;
  const onlyAtParent = unique(atParent.filter((name) => !atZone.includes(name)));
  const onlyAtZone = unique(atZone.filter((name) => !atParent.includes(name)));
  if (onlyAtParent.length + onlyAtZone.length === 0) return undefined;
  const { hostname } = expected;
  return { code: 'delegation_mismatch', hostname, zone, parent, onlyAtParent, onlyAtZone };
}

type Disagreeing = FindingIn<DelegationFinding, 'name_servers_disagree'>;

function isOfSeveralProviders({ right, others }: Disagreeing): boolean {
  return areOfSeveralProviders(
    right,
    others.map(({ server }) => server),
  );
}

/** Servers of one provider sync with each other; those of several providers do not. */
function agreeing(finding: Disagreeing): string {
  const { hostname, zone = hostname } = finding;
  return isOfSeveralProviders(finding)
    ? `These name servers seem to belong to different DNS providers, which do not copy records from each other. Create the record at both, or list the name servers of only one of them at ${finding.zone === undefined ? 'your registrar' : keeperOf(zone)}.`
    : 'Nothing to do: your DNS provider is updating its name servers. We check again within seconds. If this lasts more than an hour, ask your provider why these servers are behind.';
}

function orNone(names: readonly string[]): string {
  return names.length === 0 ? 'none' : listed(names);
}
