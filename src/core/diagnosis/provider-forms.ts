/** What is known about the pages of DNS providers. docs/understand/providers.md has each source. */

type ProviderForm = {
  /** The page with the records of `{zone}`: only where published documentation has this link. */
  readonly dnsUrl?: string;
  /** Where its customers start. */
  readonly siteUrl?: string;
  /** The name of the zone itself is an empty field, not `@`. */
  readonly hasEmptyApex?: true;
  /** The type to choose at the apex, if it is not the one that the provider creates. */
  readonly apexType?: 'CNAME';
  /** A value without a final dot gets the zone appended. */
  readonly wantsFinalDot?: true;
  /** Another provider whose customers have the same name servers. */
  readonly sharedWith?: string;
  /** A CAA record is one text, not three fields. */
  readonly hasCaaText?: true;
};

const forms: { readonly [provider: string]: ProviderForm } = {
  Cloudflare: { dnsUrl: 'https://dash.cloudflare.com/?to=/:account/:zone/dns/records' },
  'Amazon Route 53': {
    siteUrl: 'https://console.aws.amazon.com/route53/',
    hasEmptyApex: true,
    hasCaaText: true,
  },
  // Name servers that others share, so that no link is right for all (src/core/diagnosis/providers.ts).
  'Google Cloud DNS': { sharedWith: 'Squarespace (domains that came from Google Domains)' },
  'Azure DNS': { siteUrl: 'https://portal.azure.com/' },
  GoDaddy: { dnsUrl: 'https://dcc.godaddy.com/manage/{zone}/dns' },
  Namecheap: {
    dnsUrl: 'https://ap.www.namecheap.com/domains/domaincontrolpanel/{zone}/advancedns',
  },
  DNSimple: { siteUrl: 'https://dnsimple.com/dashboard' },
  NS1: { sharedWith: 'Netlify' },
  Squarespace: {
    dnsUrl: 'https://account.squarespace.com/domains/managed/{zone}/dns/dns-settings',
  },
  DigitalOcean: { siteUrl: 'https://cloud.digitalocean.com/networking/domains' },
  Linode: { siteUrl: 'https://cloud.linode.com/domains' },
  Gandi: { siteUrl: 'https://admin.gandi.net/domain/' },
  Porkbun: { siteUrl: 'https://porkbun.com/account/domainsSpeedy', hasCaaText: true },
  Hetzner: { siteUrl: 'https://console.hetzner.com/' },
  OVHcloud: {
    siteUrl: 'https://www.ovh.com/manager/',
    hasEmptyApex: true,
    wantsFinalDot: true,
  },
  IONOS: { siteUrl: 'https://my.ionos.com/domains' },
  Enom: { wantsFinalDot: true },
  Hover: { dnsUrl: 'https://www.hover.com/control_panel/domain/{zone}/dns' },
  NameSilo: { siteUrl: 'https://www.namesilo.com/account_domains.php' },
  Wix: { hasEmptyApex: true },
  'Hurricane Electric': { siteUrl: 'https://dns.he.net/' },
  'DNS Made Easy': {
    siteUrl: 'https://cp.dnsmadeeasy.com/',
    hasEmptyApex: true,
    wantsFinalDot: true,
  },
  Constellix: { siteUrl: 'https://manage.constellix.com/', hasEmptyApex: true },
  easyDNS: { siteUrl: 'https://cp.easydns.com/manage/domains/', wantsFinalDot: true },
  Vercel: { siteUrl: 'https://vercel.com/dashboard/domains' },
  Hostinger: { siteUrl: 'https://hpanel.hostinger.com/domains', apexType: 'CNAME' },
  'Name.com': {
    dnsUrl: 'https://www.name.com/account/domain/details/{zone}#dns',
    hasEmptyApex: true,
  },
  INWX: { siteUrl: 'https://www.inwx.com/en/domain' },
  deSEC: { siteUrl: 'https://desec.io/domains' },
  ClouDNS: { siteUrl: 'https://www.cloudns.net/main/' },
  STRATO: { siteUrl: 'https://www.strato.de/apps/CustomerService', wantsFinalDot: true },
  netcup: { siteUrl: 'https://www.customercontrolpanel.de/' },
};

/** Empty for a provider without known facts. */
export function formOf(provider: { readonly name: string } | null): ProviderForm {
  return provider === null ? {} : (forms[provider.name] ?? {});
}

/** `zone`: A-labels. Null: unknown. */
export function linksOf(
  provider: { readonly name: string },
  zone: string,
): { readonly dnsUrl: string | null; readonly siteUrl: string | null } {
  const { dnsUrl, siteUrl } = formOf(provider);
  return {
    dnsUrl: dnsUrl?.replace('{zone}', encodeURIComponent(zone)) ?? null,
    siteUrl: siteUrl ?? null,
  };
}
