/** Changes of a project's domain settings: one part of them each, so that others who change another part lose nothing. */
import { refuse } from '../../http/pipeline/errors.ts';
import type { Answer, Settings } from '../client.ts';
import type { SignedInRequest } from '../layout.ts';
import { apiPath, projectPath } from '../paths.ts';

type DomainSettings = Settings['domains'];
type Redirect = DomainSettings['redirects'][number];

export type Change = {
  readonly apply: (domains: DomainSettings) => DomainSettings;
  /** How the part that it changes stands: where somebody else has put something else there meanwhile, it is refused. */
  readonly part: (domains: DomainSettings) => string;
  /** How that part stood when the change was thought of; left out, as it stands when it is asked for. */
  readonly seen?: string;
};

/** Each try that fails is a change of somebody else's that was stored: more than this are not at it together. */
const TRIES_MAX = 16;

/** Makes the change to what is there now, and to nothing else: what is stored meanwhile is read, and it is made to that. */
export async function changeSettings(
  { api, params }: SignedInRequest,
  { apply, part, seen: shown }: Change,
): Promise<Answer<Settings>> {
  const path = apiPath(`${projectPath(params['projectId'] ?? '')}/domain-settings`);
  let seen = shown;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const now = await api.call<Settings>('GET', path);
    if (!now.ok) return now;
    const domains = apply(now.body.domains);
    const stands = part(now.body.domains);
    seen ??= stands;
    if (stands !== seen && stands !== part(domains)) return overtaken;
    const answer = await api.call<Settings>('PUT', path, { domains }, now.etag);
    if (answer.ok || answer.error.code !== 'precondition_failed') return answer;
  }
  return busy;
}

const overtaken = notStored(
  'Somebody else has changed the same setting meanwhile. It is shown as it is now; yours was not stored.',
);
const busy = notStored('Others are changing these settings just now; try again.');

function notStored(words: string) {
  const { status, body } = refuse('precondition_failed', words);
  return { ok: false, status, error: body } as const;
}

/** A domain redirects once: the new one takes the place of the old. */
export function withRedirect(redirect: Redirect): Change {
  return {
    part: ({ redirects }) => JSON.stringify(entryOf(redirects, redirect.from)),
    apply: (domains) => ({
      ...domains,
      redirects: [...domains.redirects.filter(({ from }) => from !== redirect.from), redirect],
    }),
  };
}

/** `to`: where it led when it was shown. */
export function withoutRedirect(from: string, to: string | null): Change {
  return {
    part: ({ redirects }) => entryOf(redirects, from)?.[1] ?? '',
    ...(to !== null && { seen: to }),
    apply: (domains) => ({
      ...domains,
      redirects: domains.redirects.filter((one) => one.from !== from),
    }),
  };
}

export function withPrimary(primary: string | null): Change {
  return {
    part: (domains) => domains.primary ?? '',
    apply: (domains) => ({ ...domains, primary }),
  };
}

function entryOf(redirects: readonly Redirect[], from: string) {
  const entry = redirects.find((one) => one.from === from);
  return entry === undefined ? null : ([entry.from, entry.to, entry.status] as const);
}
