/** Finds the host in what people paste into a host name's field. */

export type PastedHost =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly reason: string };

/** The full stops of UTS 46: what separates labels, in any script. */
export const fullStops = /[.\u3002\uff0e\uff61]/u;

/** Longer than any name that could still come to 253 octets; keeps hostile input cheap. */
const CHARACTERS_MAX = 1_000;

const schemeBefore = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i;
const portAfter = /^([^:]*):(\d{0,5})$/;

/**
 * Takes away surrounding space, scheme, path, query, fragment, port and one trailing dot.
 * A port says nothing about the DNS, and customers' domains are served on 80 and 443 only: our choice to drop
 * it. A user name is refused, for an e-mail address is not a host name.
 */
export function hostInPasted(text: string): PastedHost {
  const [authority = ''] = text.trim().replace(schemeBefore, '').split(/[/?#]/, 1);
  if (authority.includes('@')) {
    return refused('This looks like an e-mail address or a user name; please give the host name.');
  }
  if (authority.startsWith('[') || authority.split(':').length > 2) {
    return refused('This looks like an IPv6 address; please give a host name.');
  }
  const host = withoutPort(authority);
  if (host === undefined) return refused('What follows the colon is not a port number.');
  return checked(host.trim());
}

function withoutPort(authority: string): string | undefined {
  if (!authority.includes(':')) return authority;
  const [, host, port] = portAfter.exec(authority) ?? [];
  return Number(port ?? Number.NaN) <= 65_535 ? host : undefined;
}

function checked(host: string): PastedHost {
  if (host === '') return refused('The host name is empty.');
  if (host.length > CHARACTERS_MAX) {
    return refused('The host name is longer than the 253 octets that the DNS allows.');
  }
  return { ok: true, host: fullStops.test(host.slice(-1)) ? host.slice(0, -1) : host };
}

function refused(reason: string): PastedHost {
  return { ok: false, reason };
}
