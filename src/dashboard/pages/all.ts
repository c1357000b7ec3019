/** Every page there is. */
import type { PageRoute } from '../layout.ts';
import type { Sessions } from '../sessions.ts';
import { accountPages } from './accounts.ts';
import { domainPages } from './domain/page.ts';
import { domainsPages } from './domains.ts';
import { actionPages } from './ops/actions.ts';
import { watchedPage } from './ops/domain.ts';
import { findPage } from './ops/find.ts';
import { overviewPage } from './ops/overview.ts';
import { projectPages } from './projects.ts';
import { sessionPages } from './sessions.ts';
import { settingsPages } from './settings.ts';
import { signInPages } from './sign-in.ts';

/** Every page and form, those of the sign-in first. */
export function allPages(sessions: Sessions): readonly PageRoute[] {
  return [
    ...signInPages(sessions),
    ...projectPages(),
    ...domainsPages(),
    ...domainPages(),
    ...settingsPages(),
    ...sessionPages(sessions),
    ...accountPages(sessions),
    ...opsPages(),
  ];
}

/** The pages for operators. Each shows who lacks the scope `ops:read` what is missing. */
function opsPages(): readonly PageRoute[] {
  const needs = { scope: 'ops:read', operators: true } as const;
  return [
    { method: 'GET', path: '/ops', needs, handle: overviewPage },
    { method: 'GET', path: '/ops/domains', needs, handle: findPage },
    { method: 'GET', path: '/ops/domains/:domainId', needs, handle: (asked) => watchedPage(asked) },
    ...actionPages(),
  ];
}
