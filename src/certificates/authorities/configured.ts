import { readFileSync } from 'node:fs';
import type { Config, FallbackAuthority } from '../../config/config.ts';
import type { AuthorityKeyStore } from '../../db/issuance/authority-keys.ts';
import type { AcmeSettings } from '../acme/account.ts';
import { createAcmeAuthority } from '../acme/acme-authority.ts';
import { generatePrivateKey, openKey, sealKey } from '../vault/keys.ts';
import type { Vault } from '../vault/vault.ts';
import type {
  CertificateAuthorities,
  CertificateAuthority,
  ConfiguredAuthority,
} from './authority.ts';
import { createExternalAuthority, type ExternalAuthority } from './external.ts';
import { createLocalAuthority, type LocalRoot } from './local.ts';

export type ComposeAuthoritiesDeps = {
  readonly config: Config['acme'];
  readonly keys: AuthorityKeyStore;
  readonly vault: Vault;
  /** The local CA issues only for names that a project holds. */
  readonly isHeld: (hostname: string) => Promise<boolean>;
  readonly now: () => Date;
};

/** The default port of https URLs (RFC 9110, 4.2.2). */
export const HTTPS_PORT = 443;

/** What the root's key is bound to in the vault. */
const ROOT_SEAL = 'local_authority/root';

/** The ACME CA and its fallback, otherwise the local CA. Throws if a CA file cannot be read. */
export function composeAuthorities(deps: ComposeAuthoritiesDeps): CertificateAuthorities {
  const { directoryUrl, issuerDomains, fallback } = deps.config;
  if (directoryUrl === undefined) {
    return [{ directoryUrl: null, issuerDomains, authority: composeLocal(deps) }];
  }
  const first = composeAcme(deps, { ...deps.config, directoryUrl, settings: 'ACME' });
  if (fallback === undefined) return [first];
  return [first, composeAcme(deps, { ...fallback, settings: 'ACME_FALLBACK' })];
}

/** Null if certificates are our own. Throws if ACME_CA_FILE cannot be read. */
export function composeExternal(
  {
    acme: { caFile },
    certificates,
    dns,
    edge,
  }: Pick<Config, 'acme' | 'certificates' | 'dns' | 'edge'>,
  lookupAddresses: (hostname: string) => Promise<readonly string[]>,
): ExternalAuthority | null {
  if (certificates.source === 'own') return null;
  return createExternalAuthority({
    lookupAddresses,
    port: edge.publicHttpsPort ?? HTTPS_PORT,
    trust: caFile === undefined ? null : readFileSync(caFile, 'utf8'),
    allowPrivate: dns.allowPrivate,
  });
}

type AcmeDirectory = FallbackAuthority & { readonly settings: AcmeSettings };

function composeAcme(
  { config, keys, vault, now }: ComposeAuthoritiesDeps,
  { directoryUrl, issuerDomains, caFile, externalAccount, profile, settings }: AcmeDirectory,
): ConfiguredAuthority {
  const seal = `acme_account/${directoryUrl}`;
  const authority = createAcmeAuthority({
    directoryUrl,
    trust: caFile === undefined ? null : readFileSync(caFile, 'utf8'),
    account: {
      contact: config.contact ?? null,
      externalAccount: externalAccount ?? null,
      settings,
      async load() {
        const stored =
          (await keys.loadAccount(directoryUrl)) ??
          (await keys.keepAccountKey(directoryUrl, sealKey(vault, generatePrivateKey(), seal)));
        const { accountUrl: url, contact } = stored;
        return { key: openKey(vault, stored.sealedKey, seal), url, contact };
      },
      save: (account) => keys.storeAccount(directoryUrl, account),
    },
    challenge: config.challenge,
    profile: profile ?? null,
    now,
  });
  return { directoryUrl, issuerDomains, authority };
}

function composeLocal({ keys, vault, isHeld, now }: ComposeAuthoritiesDeps): CertificateAuthority {
  const opened = (root: { certificate: string; sealedKey: Uint8Array }): LocalRoot => ({
    certificate: root.certificate,
    key: openKey(vault, root.sealedKey, ROOT_SEAL),
  });
  return createLocalAuthority({
    async loadRoot() {
      const stored = await keys.loadRoot();
      return stored === null ? null : opened(stored);
    },
    async keepRoot({ certificate, key }) {
      return opened(
        await keys.keepRoot({ certificate, sealedKey: sealKey(vault, key, ROOT_SEAL) }),
      );
    },
    isHeld,
    now,
  });
}
