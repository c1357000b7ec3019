/** Asks for the page again, and puts in place what has changed. */
import { rememberParts, replaceParts } from './parts.ts';
import { say } from './spoken.ts';
import { setClock, tick } from './times.ts';

/** Our choice: nobody reads faster, and what happens in a rush is asked for once. */
const PACE_MS = 1_000;

let asking: Promise<boolean> | null = null;
let isAskedAgain = false;
let lastMs = Number.NEGATIVE_INFINITY;
/** Another page is on its way: this one is done with. */
let isLeaving = false;

rememberParts();

/** Whether the page is as it should be. Asked for while it is being asked for, it is asked for once more. At most once a second. */
export function refresh(): Promise<boolean> {
  if (isLeaving) return Promise.resolve(true);
  if (asking !== null) {
    isAskedAgain = true;
    return asking;
  }
  asking = paced().finally(() => {
    asking = null;
    if (!isAskedAgain) return;
    isAskedAgain = false;
    void refresh();
  });
  return asking;
}

async function paced(): Promise<boolean> {
  const waitMs = lastMs + PACE_MS - performance.now();
  if (waitMs > 0) await new Promise((done) => setTimeout(done, waitMs));
  isAskedAgain = false; // what is asked now knows of all that asked for it
  lastMs = performance.now();
  return once();
}

async function once(): Promise<boolean> {
  let response: Response;
  try {
    response = await fetch(location.href, { headers: { accept: 'text/html' } });
  } catch {
    return false; // nobody is there; the stream says when somebody is again
  }
  const came = new URL(response.url);
  if (came.pathname !== location.pathname) {
    isLeaving = true;
    location.assign(came); // the sign-in, with the way back
    return true;
  }
  if (response.status === 404) {
    isLeaving = true;
    location.reload();
  }
  if (!response.ok) return false;
  const newer = new DOMParser().parseFromString(await response.text(), 'text/html');
  setClock(newer);
  document.title = newer.title;
  const said = replaceParts(newer);
  tick();
  if (said.length > 0) say(said.join(' '));
  return true;
}
