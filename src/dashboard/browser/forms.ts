/** Copy buttons, closing menus, forms that submit once, and a preview of the parsed host name. */

const COPIED_MS = 2_000;
const PAUSE_MS = 300;
/** A server that is this slow counts as away. */
const REACH_MS = 8_000;

async function copy(button: HTMLButtonElement): Promise<void> {
  const text = button.dataset['copy'] ?? '';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return say('The browser does not allow copying. Select the text instead.');
  }
  button.textContent = 'Copied';
  say('Copied');
  setTimeout(() => {
    button.textContent = 'Copy';
  }, COPIED_MS);
}

function closeMenus(except: Element | null): void {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (menu !== except) menu.removeAttribute('open');
  }
}

document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return;
  const button = target.closest<HTMLButtonElement>('button[data-copy]');
  if (button !== null) void copy(button);
  closeMenus(target.closest('details.menu'));
});

document.addEventListener('keydown', ({ key }) => {
  const menu = document.activeElement?.closest('details.menu[open]');
  if (key !== 'Escape' || !menu) return;
  menu.removeAttribute('open');
  menu.querySelector('summary')?.focus();
});

document.addEventListener('submit', (event) => {
  const { target: form } = event;
  if (!(form instanceof HTMLFormElement)) return;
  if (form.ariaBusy === 'true') return event.preventDefault();
  form.ariaBusy = 'true';
  event.preventDefault();
  void send(form);
});

/** While the server is away, the browser would replace the page by its own error page. */
async function send(form: HTMLFormElement): Promise<void> {
  const style = document.querySelector<HTMLLinkElement>('link[rel="stylesheet"]')?.href ?? '/';
  try {
    const signal = AbortSignal.timeout(REACH_MS);
    await fetch(style, { method: 'HEAD', cache: 'no-store', signal });
  } catch {
    form.ariaBusy = null;
    return warn(form, 'The server can’t be reached. Try again in a moment.');
  }
  form.submit();
}

/** Below the form's last element, until the next attempt. */
function warn(form: HTMLFormElement, words: string): void {
  form.querySelector('.unreachable')?.remove();
  const line = document.createElement('p');
  line.className = 'error unreachable';
  line.textContent = words;
  form.append(line);
  say(words);
}

// Going back shows the page as it was left.
addEventListener('pageshow', () => {
  for (const form of document.forms) form.ariaBusy = null;
});

let waiting = 0;
let asked = new AbortController();

/** Only the latest request counts. */
async function read(text: string): Promise<void> {
  const place = document.getElementById('reading');
  const path = place?.dataset['reading'];
  if (place === null || path === undefined) return;
  // A late response would belong to another text.
  asked.abort();
  asked = new AbortController();
  if (text.trim() === '') return place.replaceChildren();
  try {
    const { signal } = asked;
    const response = await fetch(`${path}?${new URLSearchParams({ hostname: text })}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    place.replaceChildren(...(page.getElementById('reading')?.childNodes ?? []));
  } catch {
    // The next keystroke retries, and the form validates in any case.
  }
}

// Listens on the document, because the field appears later.
document.addEventListener('input', ({ target: field }) => {
  if (!(field instanceof HTMLInputElement) || field.id !== 'hostname') return;
  clearTimeout(waiting);
  waiting = setTimeout(() => void read(field.value), PAUSE_MS);
});

const spoken = document.getElementById('spoken');

/** Announces a text to screen readers (`role="status"`), invisibly. */
export function say(text: string): void {
  if (spoken === null) return;
  // A repeated text must differ to be announced.
  spoken.textContent = spoken.textContent === text ? `${text}\u00a0` : text;
}
