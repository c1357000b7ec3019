import type { Config } from '../config/config.ts';
import { createLookup, isOwn, isPublic } from '../net/destination.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';
import { createSender, type Send } from '../webhooks/send.ts';

type Around = { readonly config: Config; readonly ownAddresses: OwnAddresses };

/** Never connects to this installation or to private addresses, except in test labs. */
export function webhookSender({ config, ownAddresses }: Around): Send {
  const { dns, webhooks } = config;
  const common = { allowPrivate: webhooks.allowPrivate, lookup: createLookup(dns.servers) };
  if (webhooks.allowPrivate) return createSender({ ...common, isAllowed: () => true });
  return async (outgoing) => {
    const own = await ownAddresses();
    const isAllowed = (address: string) => isPublic(address) && !isOwn(address, own);
    return createSender({ ...common, isAllowed })(outgoing);
  };
}
