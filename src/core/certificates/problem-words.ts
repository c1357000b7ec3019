/**
 * Why a certificate authority said no, in words for the customer: its own words stand beside them, and are for whoever knows
 * the protocol. docs/api.md lists the same types.
 */
import type { Actor } from '../diagnosis/findings.ts';

/** A refusal in whole sentences for the customer. */
export type ProblemWords = {
  /** What it means. */
  readonly summary: string;
  /** What to do about it. When the next order follows is said elsewhere. */
  readonly action: string;
  /** Who has to act. */
  readonly actor: Actor;
};

const otherAddress =
  'Remove other A and AAAA records of the name, and whatever else answers in place of this service, such as a proxy. If there is nothing of the kind, there is nothing for you to do: the findings say so as soon as one is seen, and the operator of this service is alerted if it lasts.';
const otherName =
  'Ask for another host name, or ask that authority about this one: its own words say why.';
const byItself = 'There is nothing for you to do: a new order is placed automatically.';
const ourSettings =
  'There is nothing for you to do: the operator of this service has to fix it, and is alerted if it lasts.';

/** RFC 8555, 6.7's types in our spelling, and what we add at the end. */
const words = {
  account_does_not_exist: ours('does not know the account of this service'),
  /** RFC 9773, 7.4. */
  already_replaced: {
    summary: 'The certificate authority has the certificate down as replaced already.',
    action: byItself,
    actor: 'platform',
  },
  bad_csr: ours('could not take our request for a certificate'),
  bad_public_key: ours('does not take the key that we made'),
  bad_signature_algorithm: ours('does not take the way in which we sign'),
  caa: {
    summary: 'The certificate authority found a CAA record that forbids a certificate.',
    action:
      'Review each CAA record of the name, or of a name above it, at every one of your name servers: its words may say which one it read. Allow the authority there, or remove the record. Our check before the order found it allowed, so it may be new, or not everywhere.',
    actor: 'customer',
  },
  connection: {
    summary: 'The certificate authority could not connect to an address of the name.',
    action: otherAddress,
    actor: 'customer',
  },
  dns: {
    summary: 'The certificate authority got no answer from the DNS of the name.',
    action:
      'Make sure that every name server of your domain answers all queries over UDP and TCP, and that its DNSSEC signatures are valid if it uses DNSSEC. Your DNS provider can check that. A short failure clears up on its own.',
    actor: 'customer',
  },
  external_account_required: ours('wants an account that is bound to one of its customers'),
  incorrect_response: {
    summary: 'The certificate authority came to something that gave another answer than ours.',
    action: otherAddress,
    actor: 'customer',
  },
  invalid_contact: ours('does not take the mail address of this service'),
  /** draft-ietf-acme-profiles. */
  invalid_profile: ours('does not offer the kind of certificate that we ask for'),
  malformed: ours('could not read what we sent'),
  order_not_ready: {
    summary: 'The order was not ready when the certificate was asked for.',
    action: byItself,
    actor: 'platform',
  },
  rate_limited: {
    summary: 'The certificate authority takes no more orders of this kind for now.',
    action:
      'There is nothing for you to do: a new order is placed automatically when the authority allows it.',
    actor: 'platform',
  },
  rejected_identifier: {
    summary: 'The certificate authority does not issue for this name.',
    action: otherName,
    actor: 'customer',
  },
  tls: {
    summary: 'The certificate authority came to something that could not finish a TLS handshake.',
    action: otherAddress,
    actor: 'customer',
  },
  unauthorized: {
    summary: 'The certificate authority came to the name, and did not find our answer there.',
    action: otherAddress,
    actor: 'customer',
  },
  unsupported_contact: ours('does not take the kind of address that this service gave'),
  unsupported_identifier: {
    summary: 'The certificate authority does not issue for names of this kind.',
    action: otherName,
    actor: 'customer',
  },
  user_action_required: ours('waits for its terms to be agreed to'),
  /** The order or its authorization ended without a reason, or expired. */
  order_invalid: {
    summary: 'The order ended without a reason, or was open for too long.',
    action: byItself,
    actor: 'platform',
  },
  /** The authority no longer knows the order. */
  order_lost: {
    summary: 'The certificate authority no longer knows the order.',
    action: byItself,
    actor: 'platform',
  },
  /** The authority does not offer the challenge for this name that we are configured to answer. */
  challenge_not_offered: ours('does not let us prove the name in the way that we are set up for'),
  /** A type that we have no code for. */
  other: {
    summary: 'The certificate authority said no for a reason that we have no words for.',
    action:
      'Read its own words: if they are about your DNS, mend it there. Else there is nothing for you to do: a new order is placed automatically.',
    actor: 'platform',
  },
} as const satisfies Readonly<Record<string, ProblemWords>>;

/** Why an authority refused, as it is stored and as the API spells it. */
export type ProblemType = keyof typeof words;

/** Every type that has words. */
export const problemTypes = Object.keys(words) as readonly ProblemType[]; // of the object above, which has no other keys

/** Returns the words of a stored type; those of `other` for one that only a newer version knows. Never throws. */
export function explainProblem(type: string): ProblemWords {
  return Object.hasOwn(words, type) ? words[type as ProblemType] : words.other; // one of its keys
}

function ours(does: string) {
  return {
    summary: `The certificate authority ${does}.`,
    action: ourSettings,
    actor: 'platform',
  } as const;
}
