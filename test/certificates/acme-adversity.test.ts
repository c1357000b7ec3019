import { describe, expect, it, onTestFinished } from 'vitest';
import { isCertificateFault } from '../../src/certificates/fault.ts';
import { lacks } from '../support/programs.ts';
import { clientOf, createLedger, startAcmeFixture } from './support/acme-fixture.ts';

describe.skipIf(lacks('pebble', 'an ACME CA in trouble'))('An ACME CA in trouble', () => {
  it('still issues when it refuses 85 percent of nonces', async () => {
    const fixture = await startAcmeFixture({ nonceReject: 85 });
    onTestFinished(fixture.close);
    const ledger = createLedger(fixture, 'docs.acme.test');
    const result = await clientOf(fixture.pebble, ledger).advance(ledger.order(), ledger.steps);
    expect(result.kind).toBe('issued');
  });

  it('still issues after it forgot the account, which the same key creates again', async () => {
    const fixture = await startAcmeFixture();
    onTestFinished(fixture.close);
    const ledger = createLedger(fixture, 'docs.acme.test');
    await clientOf(fixture.pebble, ledger).advance(ledger.order(), ledger.steps);
    const before = ledger.urls.account;
    await fixture.restart();
    const order = { ...ledger.order(), orderUrl: null };
    const result = await clientOf(fixture.pebble, ledger).advance(order, ledger.steps);
    expect(result.kind).toBe('issued');
    expect(ledger.urls.account).not.toBe(before);
  });

  it('is reported as unreachable, not as a refusal of the domain, when it is down', async () => {
    const fixture = await startAcmeFixture();
    onTestFinished(fixture.close);
    const ledger = createLedger(fixture, 'docs.acme.test');
    const client = clientOf(fixture.pebble, ledger);
    await fixture.pebble.close();
    const fault = await client.advance(ledger.order(), ledger.steps).catch((error) => error);
    expect(isCertificateFault(fault) && fault.code).toBe('ca_unreachable');
    expect(ledger.urls.orders).toEqual([]);
  });
});
