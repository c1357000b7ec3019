/** Receives the database's notifications of routes: the triggers of migration edge_notifications. */
import {
  parseRouteNotification,
  type RouteNotification,
} from '../../core/operations/edge-route.ts';
import { listenForNotifications, type NotificationDeps } from '../engine/notifications.ts';

/** As src/db/engine/notifications.ts; `onNotification` must not throw. */
export type RouteNotificationDeps = NotificationDeps<RouteNotification>;

/** Listens, through every outage, until it is closed; `close` resolves when the connection has ended. */
export function listenForRouteNotifications(deps: RouteNotificationDeps): {
  close(): Promise<void>;
} {
  const channel = { name: 'signpost_edge', about: 'routes', parse: parseRouteNotification };
  return listenForNotifications<RouteNotification>(channel, deps);
}
