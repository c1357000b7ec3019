import { afterEach, beforeAll } from 'vitest';
import { type AcmeFront, startAcmeFront } from '../../support/acme-front.ts';
import { closeAfterAll } from '../../support/closings.ts';
import { type AcmeFixture, type AcmeFixtureOptions, startAcmeFixture } from './acme-fixture.ts';

type Started = { readonly fixture: AcmeFixture; readonly front: AcmeFront };

/** Starts both before the first test and passes them to `take`; every test gets a reset front. */
export function startFrontForAll(
  take: (started: Started) => void,
  options: AcmeFixtureOptions = {},
): void {
  const closings = closeAfterAll();
  let front: AcmeFront | undefined;
  beforeAll(async () => {
    const fixture = await startAcmeFixture(options);
    closings.push(fixture.close);
    front = await startAcmeFront(fixture.pebble);
    closings.push(front.close);
    take({ fixture, front });
  });
  afterEach(() => {
    front?.meddle({});
    front?.forget();
  });
}
