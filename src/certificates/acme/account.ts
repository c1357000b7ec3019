/** Requests signed with our ACME account, which is registered at its first use (RFC 8555, 7.3). */
import type { KeyObject } from 'node:crypto';
import { createSingleFlight } from '../../net/load-once.ts';
import { certificateFault, isCertificateFault } from '../fault.ts';
import type { AcmePost, AcmeRefusal, AcmeReply, AcmeSession } from './session.ts';
import { type ExternalAccount, signBinding } from './session.ts';

export type AcmeAccountDeps = {
  /** The caller creates the P-256 key once. The other data is null until saved. */
  readonly load: () => Promise<KeptAccount>;
  /** Called again with the same data after a crash. */
  readonly save: (stored: StoredAccount) => Promise<void>;
  /** An email address without `mailto:`. */
  readonly contact: string | null;
  /** External account binding, if the CA requires one. */
  readonly externalAccount: ExternalAccount | null;
  /** The prefix of this CA's variables; default `ACME`. */
  readonly settings?: AcmeSettings | undefined;
};

type StoredAccount = { readonly url: string; readonly contact: string | null };
type KeptAccount = {
  readonly key: KeyObject;
  readonly url: string | null;
  readonly contact: string | null;
};

/** `ACME_PROFILE` belongs to the first CA, `ACME_FALLBACK_PROFILE` to the fallback. */
export type AcmeSettings = 'ACME' | 'ACME_FALLBACK';

export type AcmeAccount = {
  readonly key: () => Promise<KeyObject>;
  /** Sends no request; null before the account is registered. */
  readonly url: () => Promise<string | null>;
  /** Registers first if needed. Throws as `AcmeSession.post`, or `ca_misconfigured`. */
  readonly post: (request: AcmePost) => Promise<AcmeReply>;
};

function bindingMissing(settings: AcmeSettings): string {
  return `the certificate authority requires an external account: set ${settings}_EAB_KID and ${settings}_EAB_HMAC_KEY`;
}

type Registered = { readonly kind: 'registered'; readonly url: string };

/** A key always gets the same account, even from several processes. */
export function createAccount(session: AcmeSession, deps: AcmeAccountDeps): AcmeAccount {
  const { contact } = deps;
  let loaded: { readonly key: KeyObject; url: string | null; contact: string | null } | null = null;
  const share = createSingleFlight<Registered | AcmeRefusal>();

  const state = async () => {
    loaded ??= { ...(await deps.load()) };
    return loaded;
  };

  async function register(): Promise<Registered | AcmeRefusal> {
    const account = await state();
    const registered = await registerAt(session, account.key, deps);
    if (registered.kind === 'refused') return registered;
    await deps.save({ url: registered.url, contact });
    Object.assign(account, { url: registered.url, contact });
    return registered;
  }

  async function update(url: string): Promise<Registered> {
    const account = await state();
    const reply = await updateContact(session, { key: account.key, accountUrl: url }, contact);
    if (reply !== null) account.contact = contact;
    if (reply?.kind === 'answer') await deps.save({ url, contact });
    return { kind: 'registered', url };
  }

  async function ensure(): Promise<Registered | AcmeRefusal> {
    const { url, contact: stored } = await state();
    if (url === null) return share('register', register);
    return stored === contact ? { kind: 'registered', url } : share('update', () => update(url));
  }

  async function post(request: AcmePost): Promise<AcmeReply> {
    const account = await state();
    const known = await ensure();
    if (known.kind === 'refused') return known;
    const reply = await session.post({ key: account.key, accountUrl: known.url }, request);
    if (!isForgotten(reply)) return reply;
    // A test server may forget accounts at a restart; the same key registers again.
    if (account.url === known.url) account.url = null;
    const again = await ensure();
    if (again.kind === 'refused') return again;
    return session.post({ key: account.key, accountUrl: again.url }, request);
  }

  return { key: async () => (await state()).key, url: async () => (await state()).url, post };
}

/**
 * RFC 8555, 7.3.2. If the CA refuses, each process tries once and the old address stays. If the
 * request fails (null), the next request tries again; orders are not affected.
 */
async function updateContact(
  session: AcmeSession,
  signer: { readonly key: KeyObject; readonly accountUrl: string },
  contact: string | null,
): Promise<AcmeReply | null> {
  const payload = { contact: contactsOf(contact) };
  try {
    return await session.post(signer, { url: signer.accountUrl, payload });
  } catch (fault) {
    if (!isCertificateFault(fault)) throw fault;
    return null;
  }
}

function contactsOf(contact: string | null): string[] {
  return contact === null ? [] : [`mailto:${contact}`];
}

async function registerAt(
  session: AcmeSession,
  key: KeyObject,
  { contact, externalAccount, settings = 'ACME' }: AcmeAccountDeps,
): Promise<Registered | AcmeRefusal> {
  const { newAccount: url, meta } = await session.directory();
  if (meta?.externalAccountRequired && externalAccount === null) {
    throw certificateFault('ca_misconfigured', bindingMissing(settings));
  }
  const payload = {
    termsOfServiceAgreed: true,
    ...(contact !== null && { contact: contactsOf(contact) }),
    ...(externalAccount !== null && {
      externalAccountBinding: await signBinding(externalAccount, { key, url }),
    }),
  };
  const reply = await session.post({ key, accountUrl: null }, { url, payload });
  if (reply.kind === 'refused') return classifyRefusal(reply, externalAccount, settings);
  if (reply.location === null) {
    throw certificateFault('ca_answer_unreadable', 'the new account has no URL');
  }
  return { kind: 'registered', url: reply.location };
}

/** Other refusals than a rate limit are configuration errors, unrelated to the ordered domain. */
function classifyRefusal(
  refusal: AcmeRefusal,
  externalAccount: ExternalAccount | null,
  settings: AcmeSettings,
): AcmeRefusal {
  const { type, detail, retryAfter } = refusal.problem;
  if (type === 'rate_limited') return refusal;
  const isUnbound = type === 'external_account_required' && externalAccount === null;
  const variables = `ACME_CONTACT${externalAccount === null ? '' : `, ${settings}_EAB_KID and ${settings}_EAB_HMAC_KEY`}`;
  const message = isUnbound
    ? bindingMissing(settings)
    : `the certificate authority refuses the account (${type}): check ${variables}. It says: ${detail}`;
  throw certificateFault('ca_misconfigured', message, { retryAfter });
}

function isForgotten(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type === 'account_does_not_exist';
}
