/** What a person sees when the service is ready: where it is, the first key, and what to try. */
import type { Config } from '../config/config.ts';

/** Where the service is reached, and what is said once. */
export type Welcome = {
  readonly addresses: {
    /** The API's URL. */
    readonly http: string | null;
    readonly edge: { readonly httpPort: number; readonly httpsPort: number } | null;
    readonly metricsPort: number | null;
  };
  /** The key that was just made, which is shown only now. */
  readonly firstKey: string | null;
};

export function welcome(config: Config, { addresses, firstKey }: Welcome): string {
  const parts = [
    `\nSignpost is ready (${config.role}, ${storageWords[config.storage.kind]}).\n`,
    ...(addresses.http ? [placesOf(addresses.http)] : []),
    ...(addresses.edge
      ? [
          `  Edge        http on port ${addresses.edge.httpPort}, https on port ${addresses.edge.httpsPort}`,
        ]
      : []),
    ...(addresses.metricsPort === null
      ? []
      : [`  Metrics     port ${addresses.metricsPort}: /metrics, /healthz, /readyz`]),
    ...(firstKey === null ? [] : [`\n  Your first key, shown only now:\n\n    ${firstKey}\n`]),
    ...(addresses.http ? [thingsToTry(addresses.http, firstKey)] : []),
  ];
  return `${parts.join('\n')}\n`;
}

const storageWords = {
  embedded: 'embedded storage',
  postgres: 'PostgreSQL',
  postgres_redis: 'PostgreSQL and Redis',
} as const;

function placesOf(url: string): string {
  return [`  Dashboard   ${url}/`, `  API         ${url}/v1`, `  Reference   ${url}/docs`].join(
    '\n',
  );
}

function thingsToTry(url: string, firstKey: string | null): string {
  // In double quotes, or the shell would send the variable's name.
  const key = firstKey ?? '$SIGNPOST_API_KEY';
  return [
    '  Try:\n',
    `    curl -s ${url}/v1/pets -H "Authorization: Bearer ${key}"`,
    `    curl -s ${url}/v1/pets -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}'`,
    '    npm run demo     # a customer’s domain goes live, in less than half a minute',
    '',
  ].join('\n');
}
