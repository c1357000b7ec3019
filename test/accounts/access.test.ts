/** A query of a project's things does not compile without an Access. */
import { describe, expect, it } from 'vitest';
import {
  type Access,
  accessTo,
  asAccount,
  asInstallation,
  wholeInstallation,
} from '../../src/core/access.ts';
import type { countUsage, findReached } from '../../src/db/account-usage.ts';
import type { findAttached, isHeld } from '../../src/db/domains/domains.ts';
import type { WatchedDomainStore } from '../../src/db/domains/watched-domains.ts';
import type { loadTimeline } from '../../src/db/events.ts';
import type { closeForOperator, loadEscalations } from '../../src/db/issuance/escalations.ts';
import type {
  bringToSweep,
  findDomains,
  findWatchedDomain,
  loadNotes,
  readOperations,
} from '../../src/db/operations.ts';
import type { Service } from '../../src/service/service.ts';

type IsAccess<Given> = Given extends Access | { readonly access: Access } ? true : false;

/** Those without an Access as first argument, except for the exempt. */
type Without<Store, Exempt = never> = {
  [Name in keyof Store]: Store[Name] extends (first: infer First, ...more: never[]) => unknown
    ? IsAccess<First> extends true
      ? never
      : Name
    : never;
}[Exclude<keyof Store, Exempt>];

/** The same for functions that take the database first. */
type LacksAccess<Query extends (...given: never[]) => unknown> =
  IsAccess<Parameters<Query>[1]> extends true ? never : Query;

/** Calls compile only if the list is empty. */
function isEmpty<_Missing extends never>(): void {}

/** Without a request: the relay takes the deliveries of all webhooks, a job one of them. */
type OfRelay =
  | 'endOfOff'
  | 'giveAgain'
  | 'giveDue'
  | 'load'
  | 'prune'
  | 'pruneWebhooks'
  | 'putBack'
  | 'save'
  | 'takeBack';
/** They make the access of a request, or store the key of the configuration. */
type OfAuthentication = 'createFirst' | 'find' | 'put';

describe('A query', () => {
  it('takes an Access by its type', () => {
    isEmpty<Without<Service['accounts']>>();
    isEmpty<Without<Service['apiKeys'], OfAuthentication>>();
    isEmpty<Without<Service['deliveries'], OfRelay>>();
    isEmpty<Without<Service['deploys']>>();
    isEmpty<Without<Service['domains']>>();
    isEmpty<Without<Service['domainSettings']>>();
    isEmpty<Without<Service['events']>>();
    isEmpty<Without<Service['projects']>>();
    isEmpty<Without<Service['webhooks']>>();
    isEmpty<Without<WatchedDomainStore>>();
    isEmpty<LacksAccess<typeof bringToSweep>>();
    isEmpty<LacksAccess<typeof closeForOperator>>();
    isEmpty<LacksAccess<typeof countUsage>>();
    isEmpty<LacksAccess<typeof findAttached>>();
    isEmpty<LacksAccess<typeof findDomains>>();
    isEmpty<LacksAccess<typeof findReached>>();
    isEmpty<LacksAccess<typeof findWatchedDomain>>();
    isEmpty<LacksAccess<typeof isHeld>>();
    isEmpty<LacksAccess<typeof loadEscalations>>();
    isEmpty<LacksAccess<typeof loadNotes>>();
    isEmpty<LacksAccess<typeof loadTimeline>>();
    isEmpty<LacksAccess<typeof readOperations>>();
    // @ts-expect-error: jobs read checks without an Access.
    isEmpty<Without<Service['checks']>>();
  });
});

describe('An Access', () => {
  it('is no object literal', () => {
    // @ts-expect-error: only src/core/access.ts makes one.
    const forged: Access = { kind: 'installation' };
    expect(forged).toEqual(wholeInstallation);
  });

  it('of an account reaches neither the installation nor another account', () => {
    const own = accessTo('one');
    expect(asAccount(own, 'one')).toBe('one');
    expect(asAccount(wholeInstallation, 'one')).toBe('one');
    expect(() => asAccount(own, 'other')).toThrow('must not reach another one');
    expect(() => asInstallation(own)).toThrow('belongs to the installation');
  });
});
