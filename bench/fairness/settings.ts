/** What all measurements share: how many, how fast, and whose names lie where. */
import { numberFrom } from '../support/figures.ts';

export const ROUNDS = numberFrom('ROUNDS', 3);
/** Of the large account, all due at once. */
export const DOMAINS = numberFrom('DOMAINS', 10_000);
/** How long the small account adds at rest; under load it does until the large one's first checks are over. */
export const REST_SECONDS = numberFrom('SECONDS', 10);
/** Domains that the small account adds in a second, whether or not the ones before have been checked. */
export const PER_SECOND = numberFrom('PER_SECOND', 25);
/** Fewer than these have no p95. */
export const LEAST = 20;

/** How far away the name servers are: at once, as no customer's are, and after what a way to them and back takes. */
export const DNS_MS = (process.env['DNS_MS'] ?? '0 20').split(' ').map(Number);

/** Zones that each lie at a name server of their own (bench/checks/settings.ts has 200): the last ones are the small account's. */
export const LARGE_ZONES = 180;
export const SMALL_ZONES = 20;
