/** Requests in the name of our account, which is registered when it is first needed (RFC 8555, 7.3). */
import type { KeyObject } from 'node:crypto';
import { certificateFault, isCertificateFault } from '../fault.ts';
import type { AcmePost, AcmeRefusal, AcmeReply, AcmeSession } from './session.ts';
import { type ExternalAccount, signBinding } from './session.ts';

/** Where an account is kept, and what it is registered with. */
export type AcmeAccountDeps = {
  /**
   * Resolves with the account's P-256 key, which the caller makes once and keeps, and with what `save` was given; nulls
   * before that.
   */
  readonly load: () => Promise<KeptAccount>;
  /** Keeps what the authority has answered. Called again with the same after a crash. */
  readonly save: (stored: StoredAccount) => Promise<void>;
  /** A mail address for the authority, without `mailto:`; null: none is given. */
  readonly contact: string | null;
  /** What a new account is bound to, where the authority requires a binding; null: nothing. */
  readonly externalAccount: ExternalAccount | null;
  /** How the names of this authority's settings begin; `ACME` unless given. */
  readonly settings?: AcmeSettings | undefined;
};

/** The account's URL, and the mail address that the authority knows. */
type StoredAccount = { readonly url: string; readonly contact: string | null };
type KeptAccount = {
  readonly key: KeyObject;
  readonly url: string | null;
  readonly contact: string | null;
};

/** For messages to the operator: `ACME_PROFILE` is the first authority's, `ACME_FALLBACK_PROFILE` the second's. */
export type AcmeSettings = 'ACME' | 'ACME_FALLBACK';

/** One account at one authority. */
export type AcmeAccount = {
  /** Resolves with the account's private key. Asks nobody outside. */
  readonly key: () => Promise<KeyObject>;
  /** Resolves with the account's URL, null before it is registered. Asks nobody outside. */
  readonly url: () => Promise<string | null>;
  /**
   * Posts in the account's name and registers it first where that is needed. Throws as `AcmeSession.post`, and
   * `ca_misconfigured` where the authority refuses the account.
   */
  readonly post: (request: AcmePost) => Promise<AcmeReply>;
};

function bindingMissing(settings: AcmeSettings): string {
  return `the certificate authority wants accounts to be bound to one of its own: set ${settings}_EAB_KID and ${settings}_EAB_HMAC_KEY`;
}

type Registered = { readonly kind: 'registered'; readonly url: string };

/**
 * Returns an account that has loaded nothing yet. Several processes may register at once: one key always gets the one
 * account. One call registers for all that wait.
 */
export function createAccount(session: AcmeSession, deps: AcmeAccountDeps): AcmeAccount {
  const { contact } = deps;
  let loaded: { readonly key: KeyObject; url: string | null; contact: string | null } | null = null;
  let updating: Promise<void> | null = null;
  let registering: Promise<Registered | AcmeRefusal> | null = null;

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

  async function update(url: string): Promise<void> {
    const account = await state();
    const reply = await updateContact(session, { key: account.key, accountUrl: url }, contact);
    if (reply === null) return;
    account.contact = contact;
    if (reply.kind === 'answer') await deps.save({ url, contact });
  }

  async function ensure(): Promise<Registered | AcmeRefusal> {
    const { url, contact: stored } = await state();
    if (url !== null) {
      if (stored !== contact) {
        updating ??= update(url).finally(() => {
          updating = null;
        });
        await updating;
      }
      return { kind: 'registered', url };
    }
    registering ??= register().finally(() => {
      registering = null;
    });
    return registering;
  }

  async function post(request: AcmePost): Promise<AcmeReply> {
    const account = await state();
    const known = await ensure();
    if (known.kind === 'refused') return known;
    const reply = await session.post({ key: account.key, accountUrl: known.url }, request);
    if (!isForgotten(reply)) return reply;
    // A laboratory's server forgets everything at a restart: the same key registers the account again.
    if (account.url === known.url) account.url = null;
    const again = await ensure();
    if (again.kind === 'refused') return again;
    return session.post({ key: account.key, accountUrl: again.url }, request);
  }

  return { key: async () => (await state()).key, url: async () => (await state()).url, post };
}

/**
 * ACME_CONTACT has changed since the authority was given it (RFC 8555, 7.3.2). One that refuses the new one is asked
 * once by each process and keeps the address that it has; one that fails (null) is asked again with the next request,
 * and no order fails for it.
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

/**
 * An authority that has had enough of us says so; any other no to our account is about our configuration, and says
 * nothing about the domain whose order was the first.
 */
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
    : `the certificate authority refuses our account (${type}): check ${variables}. It says: ${detail}`;
  throw certificateFault('ca_misconfigured', message, { retryAfter });
}

function isForgotten(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type === 'account_does_not_exist';
}
