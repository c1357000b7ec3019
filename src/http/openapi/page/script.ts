/** Runs in the browser. Served as compiled, so it imports nothing. The key stays in this tab. */

/** TypeScript's lib "dom" would also apply to server code. */
type Part = {
  hidden: boolean;
  disabled: boolean;
  value: string;
  className: string;
  textContent: string | null;
  readonly dataset: Readonly<Record<string, string | undefined>>;
  querySelector(selector: string): Part | null;
  querySelectorAll(selector: string): Iterable<Part>;
  replaceChildren(...children: readonly (Part | string)[]): void;
  append(...children: readonly (Part | string)[]): void;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
};
declare const document: Pick<Part, 'querySelector' | 'querySelectorAll'> & {
  readonly baseURI: string;
  createElement(name: string): Part;
};
declare const sessionStorage: {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
};

/** Session storage, which ends with the tab. */
const KEY = 'signpost-key';

const key = document.querySelector('#key');
if (key !== null) {
  key.value = sessionStorage.getItem(KEY) ?? '';
  key.addEventListener('input', () => sessionStorage.setItem(KEY, key.value.trim()));
}
for (const origin of document.querySelectorAll('[data-origin]')) {
  origin.textContent = new URL(document.baseURI).origin;
}
for (const form of document.querySelectorAll('form')) {
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

/** Never rejects. */
async function send(form: Part): Promise<void> {
  const answer = form.querySelector('.answer');
  const button = form.querySelector('button');
  if (answer === null || button === null) return; // the form of the key
  button.disabled = true;
  answer.replaceChildren('Sending …');
  try {
    const { url, init } = requestOf(form);
    const begun = performance.now();
    const stop = new AbortController();
    const response = await fetch(url, { ...init, signal: stop.signal });
    // The text of a stream is complete only when it ends.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const text = isStream ? '' : await response.text();
    answer.replaceChildren(...shown(response, text, performance.now() - begun));
    if (isStream) await follow(response, answer, () => stop.abort());
  } catch (fault) {
    answer.replaceChildren(element('p', `No response: ${String(fault)}`, 'bad'));
  }
  button.disabled = false;
}

/** Never rejects. */
async function follow(response: Response, answer: Part, abort: () => void): Promise<void> {
  const stop = element('button', 'Stop', 'quiet');
  stop.setAttribute('type', 'button');
  let isStopped = false;
  stop.addEventListener('click', () => {
    isStopped = true;
    abort();
  });
  const body = block('');
  answer.append(stop, body);
  const text = new TextDecoder();
  try {
    const reader = response.body?.getReader(); // not every browser can iterate over it
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      body.textContent += text.decode(read.value, { stream: true });
    }
  } catch (fault) {
    if (!isStopped) answer.append(element('p', `Connection lost: ${String(fault)}`, 'bad'));
  }
  stop.disabled = true;
}

function requestOf(form: Part): { readonly url: URL; readonly init: RequestInit } {
  const { method = 'GET', path = '' } = form.dataset;
  const fields = [...form.querySelectorAll('[data-in]')].flatMap((field) => {
    const value = field.value.trim();
    return value === ''
      ? []
      : [{ name: field.getAttribute('name') ?? '', place: field.dataset['in'], value }];
  });
  const within = (place: string) => fields.filter((field) => field.place === place);
  const filled = within('path').reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const url = new URL(filled, document.baseURI);
  for (const { name, value } of within('query')) url.searchParams.set(name, value);
  const headers = new Headers(within('header').map(({ name, value }) => [name, value]));
  if (key !== null && key.value.trim() !== '') {
    headers.set('Authorization', `Bearer ${key.value.trim()}`);
  }
  const body = form.querySelector('textarea')?.value ?? '';
  if (body !== '') headers.set('Content-Type', 'application/json');
  // Bypasses the browser's cache and sends no cookies.
  const common = { method, headers, cache: 'no-store', credentials: 'omit' } as const;
  return { url, init: body === '' ? common : { ...common, body } };
}

/** Shows the raw body: parsing would round large numbers. */
function shown(response: Response, text: string, ms: number): readonly Part[] {
  const { status, statusText, ok } = response;
  const head = element('p', '', '');
  head.append(
    element('span', `${status} ${statusText}`, ok || status === 304 ? 'good' : 'bad'),
    element('span', `${Math.round(ms)} ms`, ''),
  );
  const headers = element('details', '', '');
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  headers.append(element('summary', `${lines.length} headers`, ''), block(lines.join('\n')));
  if (text === '') return [head, headers];
  const body = block(text);
  if (!response.headers.get('content-type')?.startsWith('application/json'))
    return [head, headers, body];
  const toggle = element('button', 'Indent', 'quiet');
  toggle.setAttribute('type', 'button');
  toggle.addEventListener('click', () => {
    const isAsSent = body.textContent === text;
    body.textContent = isAsSent ? indented(text) : text;
    toggle.textContent = isAsSent ? 'As sent' : 'Indent';
  });
  head.append(toggle);
  return [head, headers, body];
}

/** Inserts white space between tokens without changing them. */
function indented(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|[^\s[\]{},:]+/g) ?? [];
  let depth = 0;
  const line = (step: number) => {
    depth += step;
    return `\n${'  '.repeat(depth)}`;
  };
  return tokens
    .map((token) => {
      if (token === '[' || token === '{') return token + line(1);
      if (token === ']' || token === '}') return line(-1) + token;
      if (token === ',') return token + line(0);
      return token === ':' ? ': ' : token;
    })
    .join('');
}

/** Plain text, never parsed as HTML. */
function element(name: string, text: string, className: string): Part {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function block(text: string): Part {
  const made = element('pre', text, '');
  made.setAttribute('tabindex', '0'); // makes it scrollable by keyboard
  return made;
}
