import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { DeliverWebhookDeps } from '../../workers/deliver-webhook.ts';
import type { RelayDeliveriesDeps } from '../../workers/relay-deliveries.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import type { Webhook } from '../core/records.ts';
import type { DeliveryStore, LoadedDelivery } from '../db/delivery/deliveries.ts';
import type { WaitingStore } from '../db/domains/waiting.ts';
import type { TestSent } from '../http/routes/webhook-owners.ts';
import { createLookup, hostOf, isOwn, isPublic } from '../net/destination.ts';
import { createKeyedCount, type KeyedCount } from '../net/keyed-count.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';
import type { Queues } from '../queue/queues.ts';
import { bodyOf, messageIdOf, signedHeaders, testBodyOf } from '../webhooks/message.ts';
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
  service: DeliveryParts,
  send: Send = senderOf(service),
): DeliverWebhookDeps {
  const { config, deliveries, vault, now } = service;
  const attempts = createKeyedCount({ total: Infinity, perKey: Infinity });
  return {
    load: deliveries.load,
    enterLines: (delivery) => enterBoth(attempts, delivery),
    send: (delivery, at) => {
      const { webhook, event } = delivery;
      const body = bodyOf(event);
      const messageId = messageIdOf(event);
      const headers = signedHeaders(vault, webhook, { messageId, at, body });
      return send({ url: webhook.url, headers, body });
    },
    putBack: deliveries.putBack,
    save: deliveries.save,
    timeScale: config.timeScale,
    jitter: () => Math.random(),
    now,
  };
}

export function relayDeps(service: DeliveryParts): RelayDeliveriesDeps {
  const { config, deliveries, queues, waiting, now } = service;
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

/** Per process, and per host. */
const testsAtOnce = { total: 20, perKey: 2 } as const;

/** A request waits for it, so it is shorter than an attempt. */
const TEST_TIMEOUT_MS = 5_000;

type TestParts = Pick<DeliveryParts, 'config' | 'ownAddresses' | 'vault'>;

/** Sends one `webhook.test` from this process, outside the queue. */
export function composeSendTest(service: TestParts, send = senderOf(service, TEST_TIMEOUT_MS)) {
  const underWay = createKeyedCount(testsAtOnce);
  return async (webhook: Webhook, at: Date): Promise<TestSent | null> => {
    const leave = underWay.admit(hostOf(new URL(webhook.url)));
    if (typeof leave !== 'function') return null;
    const messageId = `msg_${randomUUID()}`;
    const body = testBodyOf(webhook, at);
    const headers = signedHeaders(service.vault, webhook, { messageId, at, body });
    try {
      return { messageId, answer: await send({ url: webhook.url, headers, body }) };
    } finally {
      leave();
    }
  };
}

function senderOf(
  { config, ownAddresses }: Pick<DeliveryParts, 'config' | 'ownAddresses'>,
  timeoutMs?: number,
): Send {
  const { dns, webhooks } = config;
  const common = {
    allowPrivate: webhooks.allowPrivate,
    lookup: createLookup(dns.servers),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  if (webhooks.allowPrivate) return createSender({ ...common, isAllowed: () => true });
  return async (outgoing) => {
    const own = await ownAddresses();
    const isAllowed = (address: string) => isPublic(address) && !isOwn(address, own);
    return createSender({ ...common, isAllowed })(outgoing);
  };
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
