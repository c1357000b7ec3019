/** What to do at the DNS provider: a row per record, with the progress of each name server. */
import type { ChangeState } from '../../../core/diagnosis/changes/change.ts';
import { progressInWords } from '../../../core/diagnosis/changes/progress-words.ts';
import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Domain } from '../../client.ts';
import { breakable, copyable } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';

type Change = Domain['changes'][number];
type View = 'authoritative' | 'recursive';

export function changeList({ changes, observation }: Domain): Html {
  const view = observation?.view ?? 'authoritative';
  return html`<div class="labels" aria-hidden="true"><div><span>Type</span><span>Name</span><span>Value</span></div></div>
<ol class="changes">${changes.map((change) => row(change, view))}</ol>`;
}

const tones: { readonly [S in ChangeState]: Tone } = {
  to_do: 'warn',
  spreading: 'wait',
  done: 'ok',
  unknown: 'idle',
};

/** Longer names get a separate line. */
const NAME_MAX = 24;

function row(change: Change, view: View): Html {
  const { verb, type, name, value, state, note } = change;
  const tone = verb === 'keep' ? 'idle' : tones[state];
  const isLong = name.length > NAME_MAX;
  const isMade = state === 'done' || state === 'spreading';
  return html`<li class="change${isLong ? ' long' : ''}" data-key="${`${type} ${name} ${value}`}" data-tone="${tone}">
<p class="sign${verb === 'delete' ? ' away' : ''}">${isMade ? made[verb] : signs[verb]}</p>
<dl><div><dt>Type</dt><dd><code>${type}</code></dd></div>
<div><dt>Name</dt><dd>${nameOf(change)}</dd></div>
<div class="value"><dt>Value</dt>${valueCell(change)}</div></dl>
${seen(change, view)}
${note === undefined ? null : html`<p class="note">${note}</p>`}</li>`;
}

const signs = { add: 'Add', change: 'Change', delete: 'Delete', keep: 'Keep' } as const;
const made = { add: 'Added', change: 'Changed', delete: 'Deleted', keep: 'Keep' } as const;

/** Other records are only shown. */
function isEntered({ verb, type }: Pick<Change, 'verb' | 'type'>): boolean {
  return verb !== 'delete' && (verb !== 'keep' || type !== 'CAA');
}

/** Only what is entered can be copied. */
function nameOf({ verb, type, name }: Change): Html {
  if (name === '') return html`<span class="quiet">leave empty</span>`;
  return isEntered({ verb, type }) ? copyable(name, 'name') : html`<code>${breakable(name)}</code>`;
}

function valueCell({ verb, type, value, was }: Change): Html {
  if (!isEntered({ verb, type })) return html`<dd><code>${breakable(value)}</code></dd>`;
  if (was === undefined) return html`<dd>${copyable(value, 'value')}</dd>`;
  return html`<dd class="swap"><s><span class="unseen">Now: </span><code>${breakable(was)}</code></s><span class="unseen">Change to: </span>${copyable(value, 'value')}</dd>`;
}

/** The servers themselves only while they differ or lack the change. */
function seen({ verb, state, was, servers }: Change, view: View): Html {
  const isDone = state === 'done';
  const isComplete = isDone && servers.every((one) => one.state === 'done');
  const shown = isComplete || servers.length < 2 ? [] : servers;
  const names = shortNames(servers.map(({ name }) => name));
  const words = progressInWords({ verb, state, was, servers }, view);
  return html`<ul class="seen"><li class="says">${isDone && verb !== 'keep' ? icon('ok') : null}${words}</li>
${shown.map((server, at) => serverMark(server, names[at] ?? server.name, state))}</ul>`;
}

function serverMark(
  { state, shows, name }: Change['servers'][number],
  short: string,
  ofAll: ChangeState,
): Html {
  // While one server has the change, those without it are the ones to wait for.
  const tone = state === 'to_do' ? (ofAll === 'spreading' ? 'wait' : 'idle') : tones[state];
  const lacks = /^no(thing| )/.test(shows) ? ' has nothing yet' : ` still shows ${shows}`;
  const still = ofAll === 'spreading' && state === 'to_do' ? lacks : '';
  const words = state === 'unknown' ? ' didn’t answer' : still;
  return html`<li data-tone="${tone}" title="${name}">${icon(tone)}${short}${words}</li>`;
}

/** `ns51` for `ns51.domaincontrol.com`, if the first labels differ. */
function shortNames(names: readonly string[]): readonly string[] {
  const first = names.map((name) => name.split('.')[0] ?? name);
  const isClear = new Set(first).size === names.length && first.every((one) => !/^\d+$/.test(one));
  return isClear ? first : names;
}
