/** What the service knows of its certificate authorities. */
import type {
  CertificateAuthorities,
  ConfiguredAuthority,
} from '../certificates/authorities/authority.ts';
import { createAuthorityHealth } from '../certificates/authorities/health.ts';
import type { Config } from '../config/config.ts';
import { publishedBudget } from '../core/certificates/budget.ts';
import type { CaaAuthority } from '../core/diagnosis/caa/caa-set.ts';
import type { ExpectedAuthorities } from '../db/installation.ts';
import type { AuthorityBudget, AuthorityBudgets } from '../db/issuance/authority-budget.ts';
import type { Opened } from './opened.ts';

/** The setting applies to the first CA; the fallback has the known limits of its host. */
export function budgetsOf(
  [first, ...others]: CertificateAuthorities,
  acme: Config['acme'],
): AuthorityBudgets {
  const known = ({ directoryUrl }: ConfiguredAuthority): AuthorityBudget => {
    const host = directoryUrl === null ? '' : new URL(directoryUrl).hostname;
    return { directoryUrl, budget: publishedBudget(host) };
  };
  const wanted = acme.budget && { budget: acme.budget };
  return [{ ...known(first), ...wanted }, ...others.map(known)];
}

export function directoriesOf(authorities: CertificateAuthorities): ExpectedAuthorities {
  return authorities.map(({ directoryUrl }) => directoryUrl);
}

export function buildHealth({ config, log, now }: Pick<Opened, 'config' | 'log' | 'now'>) {
  return createAuthorityHealth({
    now,
    timeScale: config.timeScale,
    onChange: (directoryUrl, state) =>
      state === 'down'
        ? log.warn({ directoryUrl }, 'certificate authority unavailable')
        : log.info({ directoryUrl }, 'certificate authority available again'),
  });
}

export function caaAuthoritiesOf(
  authorities: readonly ConfiguredAuthority[],
  method: CaaAuthority['method'],
): Promise<CaaAuthority[]> {
  const named = async ({ issuerDomains, authority }: ConfiguredAuthority) => ({
    issuerDomains,
    accountUri: await authority.accountUri(),
    method,
  });
  return Promise.all(authorities.map(named));
}
