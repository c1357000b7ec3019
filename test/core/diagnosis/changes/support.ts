import type { DnsChange } from '../../../../src/core/diagnosis/changes/change.ts';
import { changesFor } from '../../../../src/core/diagnosis/changes/changes.ts';
import { diagnose } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { Observation, ServerView } from '../../../../src/core/diagnosis/observation.ts';
import { delegated, expectedFor, observed, target } from '../../support/observations.ts';

export const DOCS = 'docs.example.com';
export const APEX = 'example.com';

export function changesAt(
  hostname: string,
  servers: readonly [ServerView, ...ServerView[]],
  rest: Partial<Observation> = {},
): readonly DnsChange[] {
  const observation = observed(hostname, servers, rest);
  const { findings } = diagnose(observation, expectedFor(hostname));
  return changesFor({ hostname, target, observation, findings });
}

/** `delete A docs 151.101.1.7: spreading (ns1 done, ns2 to_do)`, without notes. */
export function inShort({ verb, type, name, value, was, state, servers }: DnsChange): string {
  const from = was === undefined ? '' : `${was} → `;
  const at = servers.map((one) => `${one.name.split('.')[0]} ${one.state}`).join(', ');
  return `${verb} ${type} ${name} ${from}${value}: ${state}${at === '' ? '' : ` (${at})`}`;
}

export function at(provider: readonly string[]): Partial<Observation> {
  return { delegation: delegated(provider) };
}

export const godaddy = at(['ns51.domaincontrol.com', 'ns52.domaincontrol.com']);
export const cloudflare = at(['ada.ns.cloudflare.com', 'rob.ns.cloudflare.com']);
export const namecheap = at(['dns1.registrar-servers.com', 'dns2.registrar-servers.com']);
export const easydns = at(['dns1.easydns.com', 'dns2.easydns.net']);
