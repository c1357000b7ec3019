/** `domains` of docs/interface.md, section 1. Host names are lower-case A-labels. */
export type DomainSettings = {
  readonly primary: string | null;
  readonly redirects: readonly Redirect[];
};

/** Keeps path and query. `status`: one of `redirectStatuses`. */
export type Redirect = { readonly from: string; readonly to: string; readonly status: number };

/** RFC 9110, 15.4. 303 answers a form; 300 and 304 are not redirects. */
export const redirectStatuses: readonly number[] = [301, 302, 307, 308];

export const REDIRECTS_MAX = 100;

/** In the order in which the rules are applied. */
type SettingsRefusalCode =
  | 'too_many_redirects'
  | 'redirect_status'
  | 'settings_unknown_host'
  | 'redirect_to_itself'
  | 'redirect_twice'
  | 'primary_redirects'
  | 'redirect_loop'
  | 'redirect_chain';

/** `reason` starts with the path in the request body, e.g. `domains.redirects[1]: …`. */
export type SettingsRefusal = { readonly code: SettingsRefusalCode; readonly reason: string };

/**
 * The first reason why settings do not fit. Accepted settings redirect each visitor at most once,
 * to a domain of the same project.
 */
export function checkSettings(
  settings: DomainSettings,
  hostnames: ReadonlySet<string>,
): SettingsRefusal | null {
  for (const rule of rules) {
    const refusal = rule(settings, hostnames);
    if (refusal !== null) return refusal;
  }
  return null;
}

type Rule = (settings: DomainSettings, hostnames: ReadonlySet<string>) => SettingsRefusal | null;

/** Later rules rely on earlier ones: following a path requires one redirect per name. */
const rules: readonly Rule[] = [
  ({ redirects }) =>
    redirects.length <= REDIRECTS_MAX
      ? null
      : refused(
          'too_many_redirects',
          `domains.redirects: ${redirects.length} redirects; the limit is ${REDIRECTS_MAX}.`,
        ),
  firstEntry(
    'redirect_status',
    ({ status }) =>
      redirectStatuses.includes(status)
        ? null
        : `${status} is not a redirect status; use one of ${redirectStatuses.join(', ')}.`,
    '.status',
  ),
  ({ primary }, hostnames) =>
    primary === null || hostnames.has(primary)
      ? null
      : refused('settings_unknown_host', `domains.primary: ${foreignTo(primary)}`),
  firstEntry('settings_unknown_host', ({ from, to }, _settings, hostnames) => {
    const unknown = [from, to].find((name) => !hostnames.has(name));
    return unknown === undefined ? null : foreignTo(unknown);
  }),
  firstEntry('redirect_to_itself', ({ from, to }) =>
    from === to ? `${from} would redirect to itself.` : null,
  ),
  firstEntry('redirect_twice', ({ from }, { redirects }, _hostnames, index) =>
    redirects.findIndex((one) => one.from === from) < index
      ? `${from} already redirects, in an entry above.`
      : null,
  ),
  firstEntry('primary_redirects', ({ from, to }, { primary }) =>
    from === primary
      ? `${from} cannot be the primary domain and redirect to ${to}: remove the redirect, or choose another primary domain.`
      : null,
  ),
  firstEntry('redirect_loop', ({ from }, { redirects }) => {
    const path = pathFrom(from, redirects);
    return path.at(-1) === from ? `${path.join(' → ')} is a loop.` : null;
  }),
  firstEntry('redirect_chain', ({ from }, { redirects }) => {
    const path = pathFrom(from, redirects);
    return path.length > 2
      ? `${path.join(' → ')} takes more than one step; redirect ${from} to ${path.at(-1)} directly.`
      : null;
  }),
];

type Entry = (
  redirect: Redirect,
  settings: DomainSettings,
  hostnames: ReadonlySet<string>,
  index: number,
) => string | null;

/** Reports the first violation. `field`: appended to the entry's path. */
function firstEntry(code: SettingsRefusalCode, reasonAgainst: Entry, field = ''): Rule {
  return (settings, hostnames) => {
    for (const [index, redirect] of settings.redirects.entries()) {
      const reason = reasonAgainst(redirect, settings, hostnames, index);
      if (reason !== null) return refused(code, `domains.redirects[${index}]${field}: ${reason}`);
    }
    return null;
  };
}

/** Ends at the first repeated name. */
function pathFrom(from: string, redirects: readonly Redirect[]): readonly string[] {
  const next = new Map(redirects.map((one) => [one.from, one.to]));
  const path = [from];
  for (let at = next.get(from); at !== undefined; at = next.get(at)) {
    const isCircle = path.includes(at);
    path.push(at);
    if (isCircle) break;
  }
  return path;
}

function foreignTo(name: string): string {
  return `“${name}” is not a domain of this project. Add it first.`;
}

function refused(code: SettingsRefusalCode, reason: string): SettingsRefusal {
  return { code, reason };
}

export type SettingsUse = { readonly primary: boolean; readonly redirects: readonly Redirect[] };

export function usesOf({ primary, redirects }: DomainSettings, hostname: string): SettingsUse {
  return {
    primary: primary === hostname,
    redirects: redirects.filter(({ to }) => to === hostname),
  };
}

export function isInUse({ primary, redirects }: SettingsUse): boolean {
  return primary || redirects.length > 0;
}
