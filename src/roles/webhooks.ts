import { setTimeout as wait } from 'node:timers/promises';
import type { DeliverWebhookDeps } from '../../workers/deliver-webhook.ts';
import type { RelayDeliveriesDeps } from '../../workers/relay-deliveries.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryStore, LoadedDelivery } from '../db/delivery/deliveries.ts';
import type { WaitingStore } from '../db/domains/waiting.ts';
import { createLookup, hostOf, isOwn, isPublic } from '../net/destination.ts';
import { createKeyedCount, type KeyedCount } from '../net/keyed-count.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';
import type { Queues } from '../queue/queues.ts';
import { bodyOf, messageIdOf, openSecret, signatureHeaders } from '../webhooks/message.ts';
import { createSender, type Send } from '../webhooks/send.ts';

export type DeliveryParts = {
  readonly config: Config;
  readonly deliveries: DeliveryStore;
  readonly waiting: Pick<WaitingStore, 'takeTurn'>;
  readonly queues: Pick<Queues, 'enqueue'>;
  readonly vault: Vault;
  readonly ownAddresses: OwnAddresses;
  now(): Date;
};

/** Few per receiver and project, so that slow receivers do not delay others. */
const places = { host: 4, owner: 8 } as const;

/** Much longer than the time after which another worker takes over a dead worker's job. */
const LOST_AFTER_MS = 120_000;

/** Tests replace `send`. */
export function deliverDeps(
  parts: DeliveryParts,
  send: Send = senderOf(parts),
): DeliverWebhookDeps {
  const { config, deliveries, vault, now } = parts;
  const attempts = createKeyedCount({ total: Infinity, perKey: Infinity });
  return {
    load: deliveries.load,
    enterLines: (delivery) => enterBoth(attempts, delivery),
    send: (delivery, at) => {
      const { webhook, event } = delivery;
      const body = bodyOf(event);
      const messageId = messageIdOf(event);
      const secrets = secretsOf(vault, delivery, at);
      const headers = signatureHeaders({ messageId, at, body, secrets });
      // The secret is wiped after signing.
      for (const secret of secrets) secret.fill(0);
      return send({ url: webhook.url, headers, body });
    },
    putBack: deliveries.putBack,
    save: deliveries.save,
    timeScale: config.timeScale,
    jitter: () => Math.random(),
    now,
  };
}

export function relayDeps(parts: DeliveryParts): RelayDeliveriesDeps {
  const { config, deliveries, queues, waiting, now } = parts;
  const { giveDue, giveAgain, takeBack, endOfOff, prune, pruneWebhooks } = deliveries;
  return {
    giveDue,
    giveAgain,
    takeBack,
    endOfOff,
    prune,
    pruneWebhooks,
    enqueue: (given, at) =>
      queues.enqueue(
        'deliver-webhook',
        given.map(({ id }) => ({ job: { deliveryId: id }, runAt: at })),
      ),
    takeTurn: waiting.takeTurn,
    inFlight: places.host,
    lostAfterMs: Math.max(5_000, LOST_AFTER_MS / config.timeScale),
    pause: (ms) => wait(ms),
    now,
  };
}

function senderOf({ config, ownAddresses }: DeliveryParts): Send {
  const { dns, webhooks } = config;
  const { allowPrivate } = webhooks;
  const lookup = createLookup(dns.servers);
  if (allowPrivate) return createSender({ allowPrivate, lookup, isAllowed: () => true });
  return async (outgoing) => {
    const own = await ownAddresses();
    const isAllowed = (address: string) => isPublic(address) && !isOwn(address, own);
    return createSender({ allowPrivate, lookup, isAllowed })(outgoing);
  };
}

/** Newest first, then the previous secret while it is valid. */
function secretsOf(vault: Vault, { webhook }: LoadedDelivery, at: Date): readonly Uint8Array[] {
  const { id, sealedSecret, sealedOldSecret, oldSecretEndsAt } = webhook;
  const old = oldSecretEndsAt !== null && oldSecretEndsAt > at ? sealedOldSecret : null;
  const sealed = old === null ? [sealedSecret] : [sealedSecret, old];
  return sealed.map((one) => openSecret(vault, id, one));
}

/** Never waits, since that would block a worker. */
function enterBoth(attempts: KeyedCount, { webhook }: LoadedDelivery): (() => void) | null {
  const host = URL.canParse(webhook.url) ? hostOf(new URL(webhook.url)) : '';
  const leaveHost = attempts.admit(`host ${host}`, places.host);
  if (typeof leaveHost !== 'function') return null;
  const leaveOwner = attempts.admit(`owner ${webhook.projectId}`, places.owner);
  if (typeof leaveOwner !== 'function') {
    leaveHost();
    return null;
  }
  return () => {
    leaveOwner();
    leaveHost();
  };
}
