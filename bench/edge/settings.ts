/** What all sections and contenders share. */
import { numberFrom } from '../support/figures.ts';

/** Number of names, each with a certificate. */
export const CERTIFICATES = numberFrom('CERTIFICATES', 1_000);
export const ROUNDS = numberFrom('ROUNDS', 3);
export const SECONDS = numberFrom('SECONDS', 5);
export const WARM_UP = numberFrom('WARM_UP', 2);

/** All have the same length. */
export function hostnameOf(index: number): string {
  return `site-${String(index).padStart(6, '0')}.bench.test`;
}

/** TLS settings of every visitor, so that all servers use the same cipher. */
export const visitorsTls = { minVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256' } as const;
