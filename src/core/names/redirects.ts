/** Domain settings: which of a project's domains is the main one, and which of them only redirect to another. */

/** `domains` of the interface document, part 1. Host names are A-labels in lower case. */
export type DomainSettings = {
  /** Null: none is chosen. */
  readonly primary: string | null;
  readonly redirects: readonly Redirect[];
};

/** Visitors of `from` are sent to `to`, path and query kept. `status`: one of `redirectStatuses`. */
export type Redirect = { readonly from: string; readonly to: string; readonly status: number };

/** The statuses that send a visitor on (RFC 9110, 15.4); 303 is an answer to a form, and 300, 304 are no redirects. */
export const redirectStatuses: readonly number[] = [301, 302, 307, 308];

/** Our choice: more than anybody has old names of one site. */
export const REDIRECTS_MAX = 100;

/** Why settings do not fit a project, as the API spells it, in the order in which the rules are applied. */
export type SettingsRefusalCode =
  | 'too_many_redirects'
  | 'redirect_status'
  | 'settings_unknown_host'
  | 'redirect_to_itself'
  | 'redirect_twice'
  | 'primary_redirects'
  | 'redirect_loop'
  | 'redirect_chain';

/** `reason` begins with the place as it stands in a request's body, e.g. `domains.redirects[1]: …`. */
export type SettingsRefusal = { readonly code: SettingsRefusalCode; readonly reason: string };

/**
 * Returns why settings do not fit a project with these domains; null where they do. What is accepted sends every visitor on
 * once at most, to a domain of the same project. Of several refusals the first in the order of the codes above is given.
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

/** Later rules rely on earlier ones: a path is followed only where each name redirects once, and none to itself. */
const rules: readonly Rule[] = [
  ({ redirects }) =>
    redirects.length <= REDIRECTS_MAX
      ? null
      : refused(
          'too_many_redirects',
          `domains.redirects: there are ${redirects.length}; a project may have ${REDIRECTS_MAX}.`,
        ),
  firstEntry(
    'redirect_status',
    ({ status }) =>
      redirectStatuses.includes(status)
        ? null
        : `${status} is no status of a redirect; it must be one of ${redirectStatuses.join(', ')}.`,
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
      ? `${from} redirects already, by an entry above.`
      : null,
  ),
  firstEntry('primary_redirects', ({ from, to }, { primary }) =>
    from === primary ? `${from} is the primary domain, and would redirect away to ${to}.` : null,
  ),
  firstEntry('redirect_loop', ({ from }, { redirects }) => {
    const path = pathFrom(from, redirects);
    return path.at(-1) === from ? `${path.join(' → ')} leads in a circle.` : null;
  }),
  firstEntry('redirect_chain', ({ from }, { redirects }) => {
    const path = pathFrom(from, redirects);
    return path.length > 2
      ? `${path.join(' → ')} takes more than one step; let ${from} redirect to ${path.at(-1)} at once.`
      : null;
  }),
];

type Entry = (
  redirect: Redirect,
  settings: DomainSettings,
  hostnames: ReadonlySet<string>,
  index: number,
) => string | null;

/** The rule that no entry may have a reason against it; names the first that has, and its field where it is one alone. */
function firstEntry(code: SettingsRefusalCode, reasonAgainst: Entry, field = ''): Rule {
  return (settings, hostnames) => {
    for (const [index, redirect] of settings.redirects.entries()) {
      const reason = reasonAgainst(redirect, settings, hostnames, index);
      if (reason !== null) return refused(code, `domains.redirects[${index}]${field}: ${reason}`);
    }
    return null;
  };
}

/** The names that a visitor is sent through; ends at the first that comes again. */
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
  return `“${name}” is not a domain of this project; add it first.`;
}

function refused(code: SettingsRefusalCode, reason: string): SettingsRefusal {
  return { code, reason };
}

/** What the settings say of one domain, whose removal would leave them pointing at nothing. */
export type SettingsUse = { readonly primary: boolean; readonly redirects: readonly Redirect[] };

/** What leads to the domain: `redirects` to it, and whether it is the primary one. */
export function usesOf({ primary, redirects }: DomainSettings, hostname: string): SettingsUse {
  return {
    primary: primary === hostname,
    redirects: redirects.filter(({ to }) => to === hostname),
  };
}

/** Whether settings would be left pointing at nothing. */
export function isInUse({ primary, redirects }: SettingsUse): boolean {
  return primary || redirects.length > 0;
}
