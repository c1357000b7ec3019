/** Name servers without customers' records: of parking pages, and of registrars' notices. */

/** `parked`: for sale or without a site; `expired`: not renewed; `unverified`: the owner has not confirmed an address. */
export type ParkingKind = 'parked' | 'expired' | 'unverified';

type ParkingRule = {
  readonly kind: ParkingKind;
  /** Null: various registrars. */
  readonly by: string | null;
  readonly source: string;
  /** Of their servers' names. */
  readonly suffixes: readonly string[];
};

/** The source. Its general DNS services are left out: their customers have their own records. */
const misp =
  'https://github.com/MISP/misp-warninglists/blob/84f0610aaf3b32159285c9b85510d0f415ea6b27/lists/parking-domain-ns/list.json';

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

/** The rule that matches all of these servers. */
export function parkingOf(serverNames: readonly string[]): Pick<ParkingRule, 'kind' | 'by'> | null {
  const found = parkingRules.find(
    ({ suffixes }) =>
      serverNames.length > 0 &&
      serverNames.every((name) => suffixes.some((suffix) => isAtOrBelow(name, suffix))),
  );
  return found === undefined ? null : { kind: found.kind, by: found.by };
}

function isAtOrBelow(name: string, suffix: string): boolean {
  return `.${name.toLowerCase().replace(/\.$/, '')}`.endsWith(`.${suffix}`);
}
