/** Sentences below a change, and names as the provider's form expects them. */
import type { HintCode } from '../hints.ts';
import { formOf } from '../provider-forms.ts';
import type { ChangePlace } from './place.ts';

/** Hints that other rows show. */
const said: ReadonlySet<HintCode> = new Set(['dname_above', 'txt_instead_of_cname']);

export function isSaidByRow(code: HintCode): boolean {
  return said.has(code);
}

/** What the provider's form expects as the name. */
export function namingNote({ record, zone, provider }: ChangePlace): string {
  const only = `Enter only “${record.name}” as the name: ${provider?.name ?? 'most providers'} add${provider === null ? '' : 's'} “.${zone}”.`;
  return provider?.name === 'Cloudflare' ? `${only} ${DNS_ONLY}` : only;
}

/** `@`, or empty where the form wants that for the zone itself. */
export function apexNameAt({ provider }: Pick<ChangePlace, 'provider'>): '@' | '' {
  return formOf(provider).hasEmptyApex ? '' : '@';
}

/** With a final dot at providers that would append the zone to the value. */
export function valueAt({ provider, record }: Pick<ChangePlace, 'provider' | 'record'>): string {
  return formOf(provider).wantsFinalDot ? `${record.value}.` : record.value;
}

export const DNS_ONLY = 'Set “Proxy status” to “DNS only”.';
