import { flag, port, timeScale } from './values.ts';

/** Let tests run on one machine, in minutes. Production keeps the defaults. */
export const testLabVariables = {
  WEBHOOK_ALLOW_PRIVATE: flag.default(false),
  DNS_ALLOW_PRIVATE: flag.default(false),
  DNS_AUTHORITY_PORT: port.default(53),
  ACME_HTTP_PORT: port.default(80),
  ACME_TLS_PORT: port.default(443),
  TIME_SCALE: timeScale.default(1),
} as const;
