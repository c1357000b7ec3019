/** What is shown to a key that may not see operations, or may not do what is asked. */

import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { html } from '../../../net/html.ts';
import type { Shown } from '../../layout.ts';
import { refusedPage, type Visitor, wayOut } from '../problem.ts';

export function needsOperator(visitor: Visitor): Shown {
  return {
    kind: 'page',
    status: 403,
    title: 'For operators',
    main: html`<div class="empty"><h1>For operators</h1>
<p>This page shows every project. The key that you are signed in with may not see that: it needs the scope <code>ops:read</code>, and <code>admin</code> to change something.</p>
<p>Who holds an admin key makes one: <code>signpost keys create --name operator --scope ops:read</code></p>
${wayOut(visitor)}</div>`,
  };
}

/** An API's refusal as a page of operators'. */
export function refusedToOperator(error: ErrorBody, visitor: Visitor): Shown {
  return error.code === 'insufficient_scope' ? needsOperator(visitor) : refusedPage(error, visitor);
}

export function watchedPath(domainId: string): string {
  return `/ops/domains/${encodeURIComponent(domainId)}`;
}

export function operationsPath(domainId: string): string {
  return `/v1/operations/domains/${encodeURIComponent(domainId)}`;
}

export const operationsCrumb = { text: 'Operations', path: '/ops' } as const;
