/** Loopback name servers for `signpost doctor`, and the environment that uses them. */
import { type LabDnsServer, startDnsServer } from '../../src/lab/dns-server.ts';

export const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';

export type DoctorTestLab = {
  readonly dns: LabDnsServer;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
};

const inCommon = [
  '@ NS ns1',
  '@ NS ns2',
  'ns1 A 127.0.0.1',
  'ns2 A 127.0.0.9',
  '@ CAA 0 issue "letsencrypt.org"',
];

/** Both servers of shop.test have the record for `docs`; for `blog` the second is outdated. */
export async function startDoctorTestLab(): Promise<DoctorTestLab> {
  const zoneWith = (...lines: readonly string[]) => ({ 'shop.test': [...inCommon, ...lines] });
  const right = [
    `docs CNAME ${target}.`,
    `xn--bcher-kva CNAME ${target}.`,
    'old CNAME old-host.example.',
  ];
  const dns = await startDnsServer({
    zones: {
      ...zoneWith(...right, `blog CNAME ${target}.`),
      'signpost.test': ['*.edge A 127.0.0.1'],
      'account.test': [
        `docs CNAME ${target}.`,
        '@ CAA 0 issue "letsencrypt.org; accounturi=https://ca.example/acct/1"',
      ],
      'evil.test': [
        'docs CNAME \u001b[2J\u0007.example.',
        'docs2 TXT "\u001b[31m\nred"',
        '@ CAA 0 issue "\u001b[2J"',
      ],
    },
  });
  const second = await startDnsServer({
    zones: zoneWith(...right, 'blog A 192.0.2.7'),
    address: '127.0.0.9',
    port: dns.port,
  });
  return {
    dns,
    env: {
      DNS_SERVERS: `${dns.address}:${dns.port}`,
      DNS_AUTHORITY_PORT: String(dns.port),
      DNS_ALLOW_PRIVATE: 'true',
    },
    async close() {
      await second.close();
      await dns.close();
    },
  };
}
