/** Fields of forms: each with its label, a hint, and the reason where what was typed does not fit. */
import { attribute, type Html, html } from '../../net/html.ts';

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: Html | string;
  /** Why what was typed was refused. */
  readonly problem?: string | null;
  readonly isOptional?: true;
  readonly placeholder?: string;
  /** Of a browser's keyboard: `url` for host names. */
  readonly inputmode?: 'url';
};

export function textField(field: Field): Html {
  const { name, label, value = '', problem = null, placeholder, inputmode } = field;
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`;
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" value="${value}"${attribute('placeholder', placeholder ?? null)}${attribute('inputmode', inputmode ?? null)}${attribute('required', field.isOptional !== true)}${inputmode === undefined ? attribute('autocomplete', 'off') : plain}${describedBy(field)}${attribute('autofocus', problem !== null)}>
${below(field)}
</div>`;
}

export type Choice = { readonly value: string; readonly text: string };

export function choiceField(field: Field, choices: readonly Choice[]): Html {
  const { name, label, value } = field;
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${describedBy(field)}>
${choices.map((choice) => html`<option value="${choice.value}"${attribute('selected', choice.value === value)}>${choice.text}</option>`)}
</select>
${below(field)}
</div>`;
}

function describedBy({ name, hint, problem = null }: Field): Html {
  const ids = [
    ...(problem === null ? [] : [`${name}-problem`]),
    ...(hint === undefined ? [] : [`${name}-hint`]),
  ];
  return html`${attribute('aria-invalid', problem === null ? null : 'true')}${attribute('aria-describedby', ids.length === 0 ? null : ids.join(' '))}`;
}

function below({ name, hint, problem = null }: Field): Html {
  return html`${problem === null ? null : html`<p class="refusal" id="${name}-problem" role="alert">${problem}</p>`}${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}
