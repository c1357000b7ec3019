/** Name servers that serve nobody's own records: those of parking pages, and those that registrars enter in their place. */

/** `parked`: for sale or without a site; `expired`: not renewed; `unverified`: the owner has not confirmed an address. */
export type ParkingKind = 'parked' | 'expired' | 'unverified';

type ParkingRule = {
  readonly kind: ParkingKind;
  /** As their customers know them; null: various registrars. */
  readonly by: string | null;
  /** Where it says so. */
  readonly source: string;
  /** The names of their servers are, or end in, one of these. */
  readonly suffixes: readonly string[];
};

/** A list of analysts who look for parked domains; of its names only those that serve nothing else. */
const misp =
  'https://github.com/MISP/misp-warninglists/blob/84f0610aaf3b32159285c9b85510d0f415ea6b27/lists/parking-domain-ns/list.json';

/** No general DNS service, though some of them are on such lists, may be here: its customers have records of their own. */
export const parkingRules: readonly ParkingRule[] = [
  parked('Sedo', 'sedoparking.com'),
  parked('Bodis', 'bodis.com'),
  parked('ParkingCrew', 'parkingcrew.net'),
  parked('ParkLogic', 'parklogic.com'),
  parked('Afternic', 'afternic.com'),
  parked('Dan.com', 'dan.com', 'undeveloped.com'),
  parked('CashParking', 'cashparking.com'),
  parked('SmartName', 'smartname.com'),
  parked('OVHcloud', 'parking1.ovh.net', 'parking2.ovh.net'),
  {
    kind: 'expired',
    by: null,
    source: misp,
    suffixes: ['expirationwarning.net', 'renewyourname.net', 'domainhasexpired.com'],
  },
  // The registrar's own name for what is about to happen; no page of theirs explains it.
  {
    kind: 'expired',
    by: 'Network Solutions',
    source: 'https://knowledge.web.com/subjects/article/KA-01066/en-us',
    suffixes: ['pendingrenewaldeletion.com'],
  },
  {
    kind: 'unverified',
    by: 'Namecheap',
    source:
      'https://www.namecheap.com/support/knowledgebase/article.aspx/9305/46/icanns-whois-verification-process',
    suffixes: ['failed-whois-verification.namecheap.com', 'verify-contact-details.namecheap.com'],
  },
];

function parked(by: string, ...suffixes: readonly string[]): ParkingRule {
  return { kind: 'parked', by, source: misp, suffixes };
}

/** Returns the rule that all of these servers fall under; undefined where one does not, or there are none. */
export function parkingOf(
  serverNames: readonly string[],
): Omit<ParkingRule, 'suffixes' | 'source'> | undefined {
  const found = parkingRules.find(
    ({ suffixes }) =>
      serverNames.length > 0 &&
      serverNames.every((name) => suffixes.some((suffix) => isAtOrBelow(name, suffix))),
  );
  return found && { kind: found.kind, by: found.by };
}

function isAtOrBelow(name: string, suffix: string): boolean {
  return `.${name.toLowerCase().replace(/\.$/, '')}`.endsWith(`.${suffix}`);
}
