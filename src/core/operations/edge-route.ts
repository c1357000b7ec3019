/** Where the edge sends the visitors of a host name, and the notifications by which a process learns that this has changed. */

export type EdgeRoute = {
  readonly hostname: string;
  readonly projectId: string;
  /** An http or https URL; a path in it is put before the request's. Null: nothing is deployed. */
  readonly upstream: string | null;
  /** Null: no certificate yet. */
  readonly certificateId: string | null;
  /** Where visitors are sent instead of to the upstream: a domain of the same project, and the status to say it with. */
  readonly redirect: { readonly to: string; readonly status: number } | null;
  /** The project's primary domain, for its deploy to know. */
  readonly primary: string | null;
};

/** What an edge process hears of routes while it runs. Times as in src/core/operations/route-memory.ts. */
export type RouteNotification =
  /** From now on every change is told. Said again where something may have been missed. */
  | { readonly kind: 'listening'; readonly since: number }
  /** What was committed before `until` has been told. Nobody says so while it is not known. */
  | { readonly kind: 'complete'; readonly until: number }
  /** Nobody holds the name any more: what is under way for it ends. */
  | { readonly kind: 'gone'; readonly hostname: string }
  | { readonly kind: 'changed'; readonly hostname: string }
  /** Every name of the project. */
  | { readonly kind: 'project_changed'; readonly projectId: string };

/** A notification of the trigger function tell_edges(); null: of a kind that this version does not know. */
export function parseRouteNotification(payload: string): RouteNotification | null {
  const [verb, subject = ''] = payload.split(' ');
  switch (verb) {
    case 'gone':
    case 'changed':
      return { kind: verb, hostname: subject };
    case 'project':
      return { kind: 'project_changed', projectId: subject };
    default:
      return null;
  }
}
