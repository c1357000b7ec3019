/** Puts deliveries together: what the workers run, from the parts that the process has. */
import { setTimeout as wait } from 'node:timers/promises';
import { DELIVERIES_AT_ONCE, type DeliverWebhookDeps } from '../../workers/deliver-webhook.ts';
import type { RelayDeliveriesDeps } from '../../workers/relay-deliveries.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import { scaleOf } from '../core/life/ladder.ts';
import type { DeliveryStore, LoadedDelivery } from '../db/delivery/deliveries.ts';
import type { WaitingStore } from '../db/domains/waiting.ts';
import { createLookup, hostOf, isOwn, isPublic } from '../net/destination.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';
import type { Queues } from '../queue/queues.ts';
import { bodyOf, messageIdOf, openSecret, signatureHeaders } from '../webhooks/message.ts';
import { createLines, createSender, type Leave, type Lines, type Send } from '../webhooks/send.ts';

/** The parts of the process that deliveries need. */
export type DeliveryParts = {
  readonly config: Config;
  readonly deliveries: DeliveryStore;
  readonly waiting: Pick<WaitingStore, 'takeTurn'>;
  readonly queues: Pick<Queues, 'enqueue'>;
  readonly vault: Vault;
  readonly ownAddresses: OwnAddresses;
  /** The account that a project belongs to. */
  accountOf(projectId: string): Promise<string>;
  now(): Date;
};

/**
 * A process has 200 attempts under way, so that it takes many slow receivers to delay the others. A webhook has no more
 * in the queue than its receiver has places, and an account never has more of them than it leaves to the others: with 25
 * projects whose receivers all hang it would have every one. Our choice.
 */
const places = { host: 4, owner: 8 } as const;

/** Long beyond the 20 s after which another worker has taken over from one that died. Our choice. */
const LOST_AFTER_MS = 120_000;

/** Builds what deliver-webhook is handed. `send` is another one in tests. */
export function deliverDeps(
  parts: DeliveryParts,
  send: Send = senderOf(parts),
): DeliverWebhookDeps {
  const { config, deliveries, vault, now } = parts;
  return {
    load: deliveries.load,
    enterLines: createEnterLines(parts),
    send: (delivery, at) => {
      const { webhook, event } = delivery;
      const body = bodyOf(event);
      const messageId = messageIdOf(event);
      const secrets = secretsOf(vault, delivery, at);
      const headers = signatureHeaders({ messageId, at, body, secrets });
      // Opened for this one signature: nothing is left in memory.
      for (const secret of secrets) secret.fill(0);
      return send({ url: webhook.url, headers, body });
    },
    putBack: deliveries.putBack,
    save: deliveries.save,
    windowMs: config.verifyWindowMs,
    jitter: () => Math.random(),
    now,
  };
}

/** Builds what the relay of deliveries is handed. */
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
        given.map(({ id, owner }) => ({ job: { deliveryId: id }, runAt: at, owner })),
      ),
    takeTurn: waiting.takeTurn,
    inFlight: places.host,
    lostAfterMs: Math.max(5_000, LOST_AFTER_MS * scaleOf(config.verifyWindowMs)),
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

/** The newest first; the one of before while it is valid. */
function secretsOf(vault: Vault, { webhook }: LoadedDelivery, at: Date): readonly Uint8Array[] {
  const { id, sealedSecret, sealedOldSecret, oldSecretEndsAt } = webhook;
  const old = oldSecretEndsAt !== null && oldSecretEndsAt > at ? sealedOldSecret : null;
  const sealed = old === null ? [sealedSecret] : [sealedSecret, old];
  return sealed.map((one) => openSecret(vault, id, one));
}

/** What decides about the lines of a delivery. */
type Lined = { readonly webhook: Pick<LoadedDelivery['webhook'], 'projectId' | 'url'> };

/**
 * Returns the call that takes the places of an attempt in this process, for which `deliverWebhook` says more. It rejects only
 * where the account of a project is not known yet and the database is away.
 */
export function createEnterLines({
  accountOf,
}: Pick<DeliveryParts, 'accountOf'>): (delivery: Lined) => Promise<Leave | null> {
  const lines = createLines(DELIVERIES_AT_ONCE);
  return async ({ webhook }) => {
    const { projectId } = webhook;
    const account = projectId === null ? 'operators' : await accountOf(projectId);
    return enterAll(lines, webhook, account);
  };
}

/** A place in each line, or in none. */
function enterAll(lines: Lines, webhook: Lined['webhook'], account: string): Leave | null {
  const host = URL.canParse(webhook.url) ? hostOf(new URL(webhook.url)) : '';
  const entries = [
    () => lines.enter(`host ${host}`, places.host),
    () => lines.enter(`owner ${webhook.projectId}`, places.owner),
    () => lines.enterShare(account),
  ];
  const leaves: Leave[] = [];
  const leaveAll = () => {
    for (const leave of leaves) leave();
  };
  for (const enter of entries) {
    const leave = enter();
    if (leave === null) {
      leaveAll();
      return null;
    }
    leaves.push(leave);
  }
  return leaveAll;
}
