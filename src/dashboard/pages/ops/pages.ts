/** The operator's pages. */
import type { PageRoute } from '../../layout.ts';
import { actionPages } from './actions.ts';
import { watchedPage } from './domain.ts';
import { findPage } from './find.ts';
import { overviewPage } from './overview.ts';

export function opsPages(): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/ops', handle: overviewPage },
    { method: 'GET', path: '/ops/domains', handle: findPage },
    { method: 'GET', path: '/ops/domains/:domainId', handle: (asked) => watchedPage(asked) },
    ...actionPages(),
  ];
}
