/** Who is signed in and what their pages offer; and whose forms are taken. */
import { timingSafeEqual } from 'node:crypto';
import type { Plan } from '../core/records.ts';
import type { SessionAccount } from '../db/sessions.ts';
import type { RawRequest } from '../http/pipeline/api.ts';
import { MAX_BODY_BYTES } from '../http/pipeline/body.ts';
import type { Headers, Scope } from '../http/pipeline/route.ts';

/**
 * Who is signed in, as the session's row says. That there is a session does not mean that its key still works: the API
 * decides that at each call.
 */
export type Session = {
  readonly id: string;
  /** The key's token, which every call to the API is made with. It must not reach a page. */
  readonly apiKey: string;
  readonly keyId: string;
  /** What the key is for, in its maker's words. */
  readonly keyName: string;
  /**
   * A token in every form of ours; another site cannot read it. It changes with the account that is chosen: a form that was
   * shown for another one is not taken.
   */
  readonly csrf: string;
  /**
   * All that the key may do here, what `admin` implies among it: decides what is offered, never what is done. Where an
   * account is shown, those that keys of accounts can have.
   */
  readonly scopes: readonly Scope[];
  /** Those that the key may put a project on; decides what is offered, as `scopes` does. */
  readonly plans: readonly Plan[];
  /** Whether the key belongs to no account: it may choose one. */
  readonly isInstallation: boolean;
  /** Whether the key is for named projects of its account alone. */
  readonly isRestricted: boolean;
  /** The account whose things the pages show. Null: all of them. */
  readonly account: SessionAccount | null;
  readonly expiresAt: Date;
};

/** Whether a page offers what needs this scope. It decides what is shown, never what is done. */
export function offers({ scopes }: Pick<Session, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope);
}

/** The account that a key of the installation acts for; undefined: all of them, or the key has its own. */
export function chosenAccount({
  account,
  isInstallation,
}: Pick<Session, 'account' | 'isInstallation'>): SessionAccount | undefined {
  return isInstallation ? (account ?? undefined) : undefined;
}

/** Who calls the API for what is in a session: its key, for the account that was chosen. */
export function callerIn(session: Session) {
  const { apiKey, id: sessionId } = session;
  return { apiKey, sessionId, accountId: chosenAccount(session)?.id };
}

/** Whether the pages on all accounts are offered: to administrators of the installation. */
export function mayChooseAccount(session: Pick<Session, 'scopes' | 'isInstallation'>): boolean {
  return session.isInstallation && offers(session, 'admin');
}

/** The first page for who is signed in: that of the projects says itself what a key lacks that may see neither. */
export function firstPage(session: Pick<Session, 'scopes'>): '/projects' | '/ops' {
  return offers(session, 'ops:read') && !offers(session, 'domains:read') ? '/ops' : '/projects';
}

/**
 * Whether a form came from a page of this session, by its token; null, for a form without one, is false. The time of
 * the comparison does not depend on where they differ.
 */
export function isOwnForm({ csrf }: Session, given: string | null): boolean {
  const [own, other] = [Buffer.from(csrf), Buffer.from(given ?? '')];
  return own.length === other.length && timingSafeEqual(own, other);
}

/** What the body of a request is. `no_form`: it has another type, or broke off. */
export type ReadForm =
  | { readonly kind: 'form'; readonly form: URLSearchParams }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_form' };

/**
 * Reads the body as a form, up to 64 KiB. A body of another type, or one whose length says that it is too large, is
 * left unread. A field that occurs several times is kept as often.
 */
export async function readForm({ headers, readBody }: RawRequest): Promise<ReadForm> {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  if (!isForm) return { kind: 'no_form' };
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return { kind: 'too_large' };
  const read = await readBody();
  if (read.kind === 'bytes') {
    return { kind: 'form', form: new URLSearchParams(Buffer.from(read.bytes).toString()) };
  }
  const isLarge = read.kind === 'too_large' || read.code === 'body_too_large';
  return { kind: isLarge ? 'too_large' : 'no_form' };
}

/**
 * Where a request comes from, by what the browser says (Fetch Metadata); by the origin where it does not (RFC 6454,
 * 7). `unsaid`: neither is there, or a person has sent it again.
 */
export function cameFrom(headers: Headers): 'here' | 'elsewhere' | 'unsaid' {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site === 'none') return 'unsaid'; // a person sends it again
  if (site !== undefined) return site === 'same-origin' ? 'here' : 'elsewhere';
  if (origin === undefined) return 'unsaid';
  return URL.canParse(origin) && new URL(origin).host === host ? 'here' : 'elsewhere';
}

/**
 * Whether a form may be acted on. With a session it must have the session's token; without one, as at the sign-in, it
 * must not come from another site.
 */
export function isFromHere(
  { headers }: Pick<RawRequest, 'headers'>,
  session: Session | null,
  form: URLSearchParams,
): boolean {
  if (session === null) return cameFrom(headers) !== 'elsewhere';
  // With the token the origin adds nothing, and a proxy may have changed the host that it is held to.
  const isForeign = cameFrom({ ...headers, origin: undefined }) === 'elsewhere';
  return !isForeign && isOwnForm(session, form.get('csrf'));
}
