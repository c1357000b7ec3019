import { type Html, html, joined } from '../../../net/html.ts';
import type { ErrorBody } from '../../pipeline/errors.ts';
import type { OpenApiDocument, Operation, Response } from '../model.ts';
import { referred, typeOf, words } from './schema-section.ts';

/** Statuses that other operations share get one row together. Throws on a broken reference. */
export function responsesTable(operation: Operation, document: OpenApiDocument): Html {
  const isOriginal = operation['x-addition'] === undefined;
  const all = Object.entries(operation.responses).map(([status, response]) => {
    const whole = '$ref' in response ? sharedResponse(response.$ref, document) : response;
    const isAddition = isOriginal && whole['x-addition'] === true;
    const isShown = !('$ref' in response) || (isOriginal && !isAddition);
    return { status, whole, isAddition, isShown };
  });
  const rest = all.filter(({ isShown }) => !isShown);
  return html`<table>${all
    .filter(({ isShown }) => isShown)
    .map(({ status, whole, isAddition }) =>
      row(status, whole, isAddition),
    )}<tr><th><small>${isOriginal ? 'also, addition' : 'also'}</small><td>${joined(
    rest.map(({ status }) => linkOf(status)),
    ', ',
  )}
</table>`;
}

/** Ordered by status, with an anchor for each. */
export function errorTable({ components }: OpenApiDocument): Html {
  // Built from errors.ts, in its order.
  const all = Object.values(components.examples).map(({ value }) => value as ErrorBody);
  return html`<table id="schema-ErrorCode">${all.map(({ code, status, message }, index) => {
    const isFirst = all[index - 1]?.status !== status;
    const anchor = isFirst ? html` id="status-${status}"` : null;
    return html`<tr${anchor}><th id="${code}"><code>${code}</code> <small>${status}</small><td>${message}
`;
  })}</table>`;
}

/** Links to the overview's explanation of a shared status. */
function linkOf(status: string): Html {
  if (status === 'default') return html`<a href="#errors">any other</a>`;
  const anchor = status === '304' ? 'header-If-None-Match' : `status-${status}`;
  return html`<a href="#${anchor}">${status}</a>`;
}

function row(status: string, response: Response, isAddition: boolean): Html {
  const mark = isAddition ? html` <small>addition</small>` : null;
  const shown = Number(status) < 400 ? status : linkOf(status);
  return html`<tr><th>${shown}${mark}<td>${said(response)}
`;
}

function said(response: Response): Html {
  const [mediaType, content] = Object.entries(response.content ?? {})[0] ?? [];
  const codes = Object.keys(content?.examples ?? {});
  if (codes.length > 0) {
    return joined(
      codes.map((code) => html`<code>${code}</code>`),
      ', ',
    );
  }
  const type =
    mediaType === 'application/json' ? typeOf(content?.schema) : (mediaType ?? 'no body');
  return html`${words(response.description)} <i>· ${type}</i>${ownHeaders(response)}`;
}

function ownHeaders({ headers }: Response): Html {
  const own = Object.entries(headers).flatMap(([name, header]) =>
    '$ref' in header ? [] : [html`<br><code>${name}</code> ${words(header.description)}`],
  );
  return html`${own}`;
}

function sharedResponse($ref: string, { components }: OpenApiDocument): Response {
  const found = components.responses[referred($ref)];
  if (found === undefined) throw new Error(`${$ref} is not in the document`);
  return found;
}
