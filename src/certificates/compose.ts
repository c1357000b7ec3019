/** Builds the certificate authority that the configuration names, with its keys in the vault. */

import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { AuthorityKeyStore } from '../db/authority-keys.ts';
import { createAcmeAuthority } from './acme/acme-authority.ts';
import type { CertificateAuthority } from './authority.ts';
import { generateSigningKey, privateKeyFromPem, privateKeyToPem } from './keys.ts';
import { createLocalAuthority, type LocalRoot } from './local-authority.ts';
import type { Vault } from './vault.ts';

export type ComposeAuthorityDeps = {
  readonly config: Config['acme'];
  readonly keys: AuthorityKeyStore;
  readonly vault: Vault;
  /** Whether a project holds this name; the local authority issues for no other. */
  readonly isHeld: (hostname: string) => Promise<boolean>;
  readonly now: () => Date;
};

/** What a root's key is bound to in the vault. */
const ROOT_SEAL = 'local_authority/root';

/** The ACME directory where one is configured, else the local authority. Throws where ACME_CA_FILE cannot be read. */
export function composeAuthority(deps: ComposeAuthorityDeps): CertificateAuthority {
  const { directoryUrl } = deps.config;
  return directoryUrl === undefined ? composeLocal(deps) : composeAcme(deps, directoryUrl);
}

function composeAcme(
  { config, keys, vault, now }: ComposeAuthorityDeps,
  directoryUrl: string,
): CertificateAuthority {
  const seal = `acme_account/${directoryUrl}`;
  return createAcmeAuthority({
    directoryUrl,
    trust: config.caFile === undefined ? null : readFileSync(config.caFile, 'utf8'),
    account: {
      contact: config.contact ?? null,
      async load() {
        const stored =
          (await keys.loadAccount(directoryUrl)) ??
          (await keys.keepAccountKey(directoryUrl, sealKey(vault, generateSigningKey(), seal)));
        return { key: openKey(vault, stored.sealedKey, seal), url: stored.accountUrl };
      },
      saveUrl: (url) => keys.storeAccountUrl(directoryUrl, url),
    },
    now,
  });
}

function composeLocal({ keys, vault, isHeld, now }: ComposeAuthorityDeps): CertificateAuthority {
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

function sealKey(vault: Vault, key: KeyObject, boundTo: string): Uint8Array<ArrayBuffer> {
  const pem = Buffer.from(privateKeyToPem(key));
  try {
    return vault.seal(pem, boundTo);
  } finally {
    pem.fill(0);
  }
}

function openKey(vault: Vault, sealed: Uint8Array, boundTo: string): KeyObject {
  const pem = vault.open(sealed, boundTo);
  try {
    return privateKeyFromPem(pem);
  } finally {
    pem.fill(0);
  }
}
