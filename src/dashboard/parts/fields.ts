import { attribute, type Html, html } from '../../net/html.ts';
import { icon } from './icons.ts';

/** `name` is also its ID, so it must be unique on the page. */
export type Field = {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: Html | string;
  /** Why the input was refused. Such a text field gets the focus. */
  readonly problem?: string | null;
  /** For text fields: otherwise the browser requires a value. */
  readonly isOptional?: true;
  readonly placeholder?: string;
  /** For on-screen keyboards: `url` for host names. */
  readonly inputmode?: 'url';
};

/** A single line without autocompletion; with `inputmode`, without autocorrection too. */
export function textField(field: Field, button: Html | null = null): Html {
  const { name, label, value = '', problem = null, placeholder, inputmode } = field;
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`;
  const input = html`<input class="input" type="text" id="${name}" name="${name}" value="${value}"${attribute('placeholder', placeholder ?? null)}${attribute('inputmode', inputmode ?? null)}${attribute('required', field.isOptional !== true)}${inputmode === undefined ? attribute('autocomplete', 'off') : plain}${describedBy(field)}${attribute('autofocus', problem !== null)}>`;
  return html`<div class="field">
<label class="label" for="${name}">${label}</label>
${button === null ? input : html`<div class="one-line">${input}${button}</div>`}
${below(field)}
</div>`;
}

export type SelectOption = { readonly value: string; readonly text: string };

/** The first choice is the default. */
export function choiceField(field: Field, choices: readonly SelectOption[]): Html {
  const { name, label, value } = field;
  return html`<div class="field">
<label class="label" for="${name}">${label}</label>
<select class="select" id="${name}" name="${name}"${describedBy(field)}>
${choices.map((choice) => html`<option value="${choice.value}"${attribute('selected', choice.value === value)}>${choice.text}</option>`)}
</select>
${below(field)}
</div>`;
}

export type RadioChoice = {
  readonly value: string;
  readonly title: string;
  readonly words: string;
};

/** The first one is checked. */
export function radioField(name: string, legend: string, choices: readonly RadioChoice[]): Html {
  return html`<fieldset class="choices"><legend class="unseen">${legend}</legend>
${choices.map(
  ({ value, title, words }, at) =>
    html`<label class="choice"><input type="radio" name="${name}" value="${value}"${attribute('checked', at === 0)}><span><b>${title}</b><small>${words}</small></span></label>`,
)}
</fieldset>`;
}

function describedBy({ name, hint, problem = null }: Field): Html {
  const ids = [
    ...(problem === null ? [] : [`${name}-problem`]),
    ...(hint === undefined ? [] : [`${name}-hint`]),
  ];
  return html`${attribute('aria-invalid', problem === null ? null : 'true')}${attribute('aria-describedby', ids.length === 0 ? null : ids.join(' '))}`;
}

function below({ name, hint, problem = null }: Field): Html {
  return html`${problem === null ? null : fieldError(problem, `${name}-problem`)}${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}

export function fieldError(words: string, id: string | null = null): Html {
  return html`<p class="error"${attribute('id', id)} role="alert">${icon('bad')}<span>${words}</span></p>`;
}
