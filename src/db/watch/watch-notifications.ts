/** Receives the database's notifications of watched names: the triggers of migration watch. */
import { listenForNotifications, type NotificationDeps } from '../engine/notifications.ts';
import { SHARDS } from './shard-leases.ts';

/** What a worker that watches is notified of. */
export type WatchNotification =
  /** From now on every change is notified. Sent again where one may have been missed: what is watched is to be loaded again. */
  | { readonly kind: 'listening' }
  /** The name is to be found again: whether it is watched, from when on, and what its servers showed. */
  | ChangedName;
type ChangedName = { readonly kind: 'changed'; readonly shard: number; readonly id: string };

/** `pool` sends a beat each second. `onNotification` must not throw. */
export type WatchNotificationDeps = Pick<
  NotificationDeps<ChangedName>,
  'database' | 'log' | 'silenceMs'
> & { readonly onNotification: (notification: WatchNotification) => void };

/** Listens, through every outage, until it is closed; `close` resolves when the connection has ended. */
export function listenForWatchNotifications(deps: WatchNotificationDeps): {
  close(): Promise<void>;
} {
  const channel = { name: 'signpost_watch', about: 'watched names', parse: parseChangedName };
  return listenForNotifications<ChangedName>(channel, {
    ...deps,
    onNotification(notification) {
      if (notification.kind === 'changed') deps.onNotification(notification);
      else if (notification.kind === 'listening') deps.onNotification({ kind: 'listening' });
    },
  });
}

/** Reads a payload of the trigger function notify_watch(), `<shard> <domain id>`; null for any other. */
function parseChangedName(payload: string): ChangedName | null {
  const [shard = '', id = ''] = payload.split(' ');
  const number = Number(shard);
  const isShard = shard !== '' && Number.isInteger(number) && number >= 0 && number < SHARDS;
  return isShard && id !== '' ? { kind: 'changed', shard: number, id } : null;
}
