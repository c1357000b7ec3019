/** Comfort: copying, menus that close, forms that are sent once, and how a host name that is typed is read. */

const COPIED_MS = 2_000;
/** Our choice: what pauses a third of a second has typed a name, or is thinking. */
const PAUSE_MS = 300;

/** Copies what the button stands for, and says so for two seconds. */
async function copy(button: HTMLButtonElement): Promise<void> {
  const text = button.dataset['copy'] ?? '';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return say('The browser does not let this page copy; select the text instead.');
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
  if (form.ariaBusy === 'true') event.preventDefault();
  form.ariaBusy = 'true';
});
// The way back shows the page as it was left.
addEventListener('pageshow', () => {
  for (const form of document.forms) form.ariaBusy = null;
});

let waiting = 0;
let asked = new AbortController();

/** Asks how the text is read, and shows the answer below the field. Only the newest question is answered. */
async function read(text: string): Promise<void> {
  const place = document.getElementById('reading');
  const path = place?.dataset['reading'];
  if (place === null || path === undefined) return;
  // An older answer that came later would be about another text.
  asked.abort();
  asked = new AbortController();
  if (text.trim() === '') return place.replaceChildren();
  try {
    const { signal } = asked;
    const response = await fetch(`${path}?${new URLSearchParams({ hostname: text })}`, { signal });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    place.replaceChildren(...(page.getElementById('reading')?.childNodes ?? []));
  } catch {
    // The next letter asks again, and the form does in any case.
  }
}

// Of the document, since the field comes once the steps before it are done.
document.addEventListener('input', ({ target: field }) => {
  if (!(field instanceof HTMLInputElement) || field.id !== 'hostname') return;
  clearTimeout(waiting);
  waiting = setTimeout(() => void read(field.value), PAUSE_MS);
});

const place = document.getElementById('spoken');

/**
 * Says a text to who listens to the page (`role="status"`), and shows it to nobody. The same text twice is said
 * twice.
 */
export function say(text: string): void {
  if (place === null) return;
  // The same words twice are news, too.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}
