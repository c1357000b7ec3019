/** What the demo's customer does: one mistake after the other, each followed by what repairs it. */

/** What the service has to say before the customer acts again. */
export type Awaited = { readonly finding: string } | { readonly event: 'domain.live' };

export type Act = {
  /** Said aloud before the records are published. */
  readonly says: string;
  /** The zone as the customer now publishes it; `{target}` stands for the host name they were shown. */
  readonly publishes: readonly string[];
  readonly until: Awaited;
};

export const acts: readonly Act[] = [
  {
    says: 'The customer has not created the record yet.',
    publishes: [],
    until: { finding: 'record_missing' },
  },
  {
    says: 'An old A record is still there.',
    publishes: ['docs A 192.0.2.7'],
    until: { finding: 'conflicting_a' },
  },
  {
    says: 'The A record is gone, but the CNAME points to the wrong host.',
    publishes: ['docs CNAME old-host.example.'],
    until: { finding: 'cname_mismatch' },
  },
  {
    says: 'The CNAME is right; a CAA record of the domain allows another authority only.',
    publishes: ['docs CNAME {target}.', '@ CAA 0 issue "other-ca.example"'],
    until: { finding: 'caa_blocks' },
  },
  {
    says: 'The customer allows our authority, too. Nobody presses anything.',
    publishes: [
      'docs CNAME {target}.',
      '@ CAA 0 issue "other-ca.example"',
      '@ CAA 0 issue "letsencrypt.org"',
    ],
    until: { event: 'domain.live' },
  },
];
