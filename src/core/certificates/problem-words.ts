/** Explains a CA's refusal to the customer. docs/integrate/domains.md lists the same types. */
import type { Actor } from '../diagnosis/findings.ts';

export type ProblemWords = {
  readonly summary: string;
  /** The time of the next order is shown elsewhere. */
  readonly action: string;
  readonly actor: Actor;
};

const otherAddress =
  'Remove other A and AAAA records of the name, and any proxy in front of this service. Without those, no action is needed. The findings report such a record as soon as one is seen, and the operator is alerted if the problem lasts.';
const otherName =
  'Use another host name, or contact that authority about this one. Its message says why.';
const byItself = 'No action needed: a new order is placed automatically.';
const ourSettings =
  'No action needed: the operator of this service has to fix it, and is alerted if it lasts.';

/** The types of RFC 8555, 6.7 in snake_case, and additional ones. */
const words = {
  account_does_not_exist: ours('does not know the account of this service'),
  /** RFC 9773, 7.4. */
  already_replaced: {
    summary: 'The certificate authority has already recorded the certificate as replaced.',
    action: byItself,
    actor: 'platform',
  },
  bad_csr: ours('rejected our certificate request'),
  bad_public_key: ours('does not accept our public key'),
  bad_signature_algorithm: ours('does not accept our signature algorithm'),
  caa: {
    summary: 'The certificate authority found a CAA record that forbids a certificate.',
    action:
      "Review the CAA records of the name and its parent domains on all of your name servers. Allow the authority there, or remove the record. See the authority's message for the record. It is new, or missing on some servers: our check before the order did not find it.",
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
      'Make sure that every name server of your domain answers all queries over UDP and TCP, and that its DNSSEC signatures are valid if it uses DNSSEC. Your DNS provider can check that. A short outage needs no action.',
    actor: 'customer',
  },
  external_account_required: ours('requires an external account'),
  incorrect_response: {
    summary: 'The certificate authority reached a server that gave a wrong answer.',
    action: otherAddress,
    actor: 'customer',
  },
  invalid_contact: ours('does not accept the email address of this service'),
  /** draft-ietf-acme-profiles. */
  invalid_profile: ours('does not offer the certificate profile that we request'),
  malformed: ours('could not parse our request'),
  order_not_ready: {
    summary: 'The order was not ready when the certificate was requested.',
    action: byItself,
    actor: 'platform',
  },
  rate_limited: {
    summary: 'The certificate authority accepts no more orders for now: its rate limit is reached.',
    action: 'No action needed: a new order is placed automatically when the authority accepts it.',
    actor: 'platform',
  },
  rejected_identifier: {
    summary: 'The certificate authority does not issue for this name.',
    action: otherName,
    actor: 'customer',
  },
  /** Multi-Perspective Issuance Corroboration (CA/Browser Forum Baseline Requirements, 3.2.2.9). */
  secondary_validation: {
    summary:
      'The certificate authority reached the name from its own network, but not from other regions of the world.',
    action:
      "Every name server of your domain has to answer queries from every region, without blocking by country. The operator of this service checks the same for its edge, and is alerted if the problem lasts. The authority's message says what failed.",
    actor: 'customer',
  },
  tls: {
    summary: 'The certificate authority reached a server that could not complete a TLS handshake.',
    action: otherAddress,
    actor: 'customer',
  },
  unauthorized: {
    summary: 'The certificate authority reached the name, but did not find our answer there.',
    action: otherAddress,
    actor: 'customer',
  },
  unsupported_contact: ours('does not accept the contact type of this service'),
  unsupported_identifier: {
    summary: 'The certificate authority does not issue for names of this kind.',
    action: otherName,
    actor: 'customer',
  },
  user_action_required: ours('requires agreement to its terms'),
  /** The order or its authorization ended without a reason, or expired. */
  order_invalid: {
    summary: 'The order ended without a reason or expired.',
    action: byItself,
    actor: 'platform',
  },
  order_lost: {
    summary: 'The certificate authority no longer knows the order.',
    action: byItself,
    actor: 'platform',
  },
  challenge_not_offered: ours('does not offer the challenge type that we are configured for'),
  other: {
    summary: 'The certificate authority refused for another reason.',
    action:
      "Read the authority's message. If it is about your DNS, fix it there. Otherwise no action is needed: a new order is placed automatically.",
    actor: 'platform',
  },
} as const satisfies Readonly<Record<string, ProblemWords>>;

export type ProblemType = keyof typeof words;

/** Every new order gets these until the customer acts. The others can pass. */
const lasting: ReadonlySet<string> = new Set<ProblemType>([
  'caa',
  'rejected_identifier',
  'unsupported_identifier',
]);

export function isLastingProblem(type: string): boolean {
  return lasting.has(type);
}

export const problemTypes = Object.keys(words) as readonly ProblemType[]; // of the object above, which has no other keys

/** An unknown type gets the text of `other`. Never throws. */
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
