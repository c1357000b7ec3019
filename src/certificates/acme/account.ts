/** Requests in the name of our account, which is registered at the first need (RFC 8555, 7.3). */
import type { KeyObject } from 'node:crypto';
import { certificateFault } from '../fault.ts';
import type { AcmePost, AcmeRefusal, AcmeReply, AcmeSession } from './session.ts';

export type AcmeAccountDeps = {
  /** The account's P-256 key, made once and kept by the caller, and its URL, null before `saveUrl`. */
  readonly load: () => Promise<{ readonly key: KeyObject; readonly url: string | null }>;
  readonly saveUrl: (url: string) => Promise<void>;
  /** A mail address for the authority. */
  readonly contact: string | null;
};

export type AcmeAccount = {
  readonly key: () => Promise<KeyObject>;
  /** Asks nobody outside; null before the account is registered. */
  readonly url: () => Promise<string | null>;
  readonly post: (request: AcmePost) => Promise<AcmeReply>;
};

type Registered = { readonly kind: 'registered'; readonly url: string };

/** An account on a session. Several processes may register at once: one key always gets the one account. */
export function createAccount(session: AcmeSession, deps: AcmeAccountDeps): AcmeAccount {
  let loaded: { readonly key: KeyObject; url: string | null } | null = null;
  let registering: Promise<Registered | AcmeRefusal> | null = null;

  const state = async () => {
    loaded ??= { ...(await deps.load()) };
    return loaded;
  };

  async function register(): Promise<Registered | AcmeRefusal> {
    const account = await state();
    const registered = await registerAt(session, account.key, deps.contact);
    if (registered.kind === 'refused') return registered;
    await deps.saveUrl(registered.url);
    account.url = registered.url;
    return registered;
  }

  async function ensure(): Promise<Registered | AcmeRefusal> {
    const { url } = await state();
    if (url !== null) return { kind: 'registered', url };
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
    // A laboratory's server forgets everything at a restart: the same key makes the account anew.
    if (account.url === known.url) account.url = null;
    const again = await ensure();
    if (again.kind === 'refused') return again;
    return session.post({ key: account.key, accountUrl: again.url }, request);
  }

  return { key: async () => (await state()).key, url: async () => (await state()).url, post };
}

async function registerAt(session: AcmeSession, key: KeyObject, contact: string | null) {
  const { newAccount } = await session.directory();
  const payload = {
    termsOfServiceAgreed: true,
    ...(contact === null ? {} : { contact: [`mailto:${contact}`] }),
  };
  const reply = await session.post({ key, accountUrl: null }, { url: newAccount, payload });
  if (reply.kind === 'refused') return reply;
  if (reply.location === null) {
    throw certificateFault('ca_answer_unreadable', 'the new account has no URL');
  }
  return { kind: 'registered', url: reply.location } as const;
}

function isForgotten(reply: AcmeReply): boolean {
  return reply.kind === 'refused' && reply.problem.type === 'account_does_not_exist';
}
