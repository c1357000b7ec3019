/** Sentences about the progress of the changes at the DNS provider. */
import { type ChangeVerb, type DnsChange, isOpen } from '../../diagnosis/changes/change.ts';
import { counted } from '../../names/printable.ts';

/** Every open change is on some name servers, but not on all. */
export function isSpreading(changes: readonly DnsChange[]): boolean {
  const open = changes.filter(isOpen);
  return open.length > 0 && open.every(({ state }) => state === 'spreading');
}

/** Whether a check did not see an open change, or could not query it. */
export function mayBeMissing(changes: readonly DnsChange[]): boolean {
  return changes.some((change) => isOpen(change) && change.state !== 'spreading');
}

/** Whether a check found that an open change is missing. */
export function hasToDo(changes: readonly DnsChange[]): boolean {
  return changes.some((change) => isOpen(change) && change.state === 'to_do');
}

/** ` Also delete the HTTPS record.` Empty without changes to make. */
export function alsoToDo(changes: readonly DnsChange[]): string {
  const left = changes.filter((change) => isOpen(change) && change.state === 'to_do');
  return left.length === 0 ? '' : ` Also ${listed(left.map(inWords))}.`;
}

/** `1 of 2 changes left: add the CNAME record.` Null if all changes are left, or none. */
export function changesLeft(changes: readonly DnsChange[]): string | null {
  const all = changes.filter(({ verb }) => verb !== 'keep');
  const left = all.filter(({ state }) => state === 'to_do');
  const spreading = all.filter(({ state }) => state === 'spreading');
  if (left.length === 0 || left.length === all.length) return null;
  const what = left.length > 3 ? '' : `: ${listed(left.map(inWords))}`;
  const rest = [...new Set(spreading.map(onItsWay))].join(' ');
  return `${left.length} of ${all.length} changes left${what}. ${rest}`.trimEnd();
}

/** `1 of 2 name servers has every change.` */
export function serversUpdated(changes: readonly DnsChange[]): { done: number; all: number } {
  const coming = changes.filter(({ state }) => state === 'spreading');
  const names = new Set(coming.flatMap(({ servers }) => servers.map(({ name }) => name)));
  const behind = new Set(
    coming.flatMap(({ servers }) =>
      servers.filter(({ state }) => state !== 'done').map(({ name }) => name),
    ),
  );
  return { done: names.size - behind.size, all: names.size };
}

/** `Add 1 record at GoDaddy`; different verbs: `2 changes at GoDaddy`. Null without changes. */
export function taskInBrief(changes: readonly DnsChange[], provider: string): string | null {
  const left = changes.filter((change) => isOpen(change) && change.state !== 'spreading');
  const [first] = left;
  if (first === undefined) return null;
  const isOne = left.every(({ verb }) => verb === first.verb);
  return isOne
    ? `${verbs[first.verb]} ${counted(left.length, 'record')} at ${provider}`
    : `${counted(left.length, 'change')} at ${provider}`;
}

const verbs: { readonly [V in ChangeVerb]: string } = {
  add: 'Add',
  change: 'Change',
  delete: 'Delete',
  keep: 'Keep',
};

function onItsWay({ verb, type }: DnsChange): string {
  return `The ${type} record is already ${verb === 'delete' ? 'going away' : 'showing up'}.`;
}

function inWords({ verb, type }: DnsChange): string {
  return `${verbs[verb].toLowerCase()} the ${type} record`;
}

function listed(texts: readonly string[]): string {
  const all = [...new Set(texts)];
  return all.length < 3
    ? all.join(' and ')
    : `${all.slice(0, -1).join(', ')} and ${all[all.length - 1]}`;
}
