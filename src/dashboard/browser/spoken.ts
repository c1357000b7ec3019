/** What is told to who listens to the page: one line at a time, in the page's own place for it. */

const place = document.getElementById('spoken');

export function say(text: string): void {
  if (place === null) return;
  // The same words twice are news, too.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}
