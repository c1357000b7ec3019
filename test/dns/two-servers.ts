/** docs.shop.test in a zone on two name servers, and its possible problems. */
import { asked, openDns, openTestLab } from './test-lab.ts';

export const target = 'p1.edge.test';
export const hostname = 'docs.shop.test';
export const checkTarget = { hostname, target, apex: false };
export const right = 'docs CNAME p1.edge.test.';
const edge = ['p1 A 192.0.2.10'];
const others = ['@ NS ns1.shop.test.', '@ NS ns2.shop.test.'];
const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.2'];

export async function openZone(lines: string[], edgeLines = edge) {
  const shop = [...two, ...lines];
  const dns = await openDns({ 'shop.test': shop, 'edge.test': edgeLines, 'other.test': others });
  const other = await openDns({ 'shop.test': shop }, dns.port, '127.0.0.2');
  const config = { servers: [{ address: dns.address, port: dns.port }], authorityPort: dns.port };
  const openObserver = async () => (await openTestLab({}, config)).observer;
  const both = [dns, other];
  return {
    observer: await openObserver(),
    /** Another process with the registry and the name servers cached from another zone. */
    async openAnother() {
      const observer = await openObserver();
      await observer.observe({ hostname: 'docs.other.test', target, apex: false });
      both.forEach((server) => void server.forget());
      return observer;
    },
    both,
    forget: () => both.forEach((server) => void server.forget()),
    edit: (remove: string[], add: string[]) =>
      both.forEach((server) => void server.edit('shop.test', { remove, add })),
    count: () => both.flatMap((server) => asked(server)),
  };
}

/** `light`: queries when one server is asked; `questions`: when each is. */
export type Unhealthy = {
  title: string;
  lines: string[];
  questions: number;
  light: number;
  edge?: string[];
};

export const unhealthy: readonly Unhealthy[] = [
  { title: 'a name that does not exist', lines: [], questions: 2, light: 1 },
  {
    title: 'a CNAME beside a forbidden address',
    lines: ['docs CNAME p1.edge.test.', 'docs A 192.0.2.1'],
    questions: 3,
    light: 2,
  },
  { title: 'another CNAME', lines: ['docs CNAME other.test.'], questions: 2, light: 1 },
  { title: 'a name without the record', lines: ['docs TXT "x"'], questions: 3, light: 2 },
  {
    title: 'an old address',
    lines: ['docs A 192.0.2.1', 'docs A 192.0.2.2'],
    questions: 3,
    light: 2,
  },
  {
    title: 'a right record and a CAA set that may forbid issuance',
    lines: [right, '@ CAA 0 issue "a.example"', '@ CAA 0 issue "b.example"'],
    questions: 3,
    light: 2,
  },
  {
    title: 'a right record and a CAA set at the target',
    lines: [right],
    edge: [...edge, 'p1 CAA 0 issue "ca.example"'],
    questions: 3,
    light: 2,
  },
];
