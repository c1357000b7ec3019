/** The host name that is to be looked at, as people type it. */
import { type HostnameResult, parseHostname } from '../core/hostname.ts';

/** As for adding a domain, in words for one who only wants to look. Never throws. */
export function parseLookedAt(text: string, platformDomain: string): HostnameResult {
  const parsed = parseHostname(text, platformDomain);
  if (parsed.ok || parsed.code !== 'wildcard_unsupported') return parsed;
  const reason = 'A wildcard cannot be looked at; please give one host name, without “*”.';
  return { ...parsed, reason };
}
