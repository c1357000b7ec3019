/**
 * What makes a page move: after an event of its project the page is asked for again, and the parts that changed are put in
 * the place of the old ones. Nothing is asked for while nothing happens. Without this script every page still reads.
 */
import './forms.ts';
import { listen } from './stream.ts';
import { startTicking } from './times.ts';

startTicking();

const { events, types = '' } = document.getElementById('main')?.dataset ?? {};
if (events !== undefined) listen(events, types.split(' '));
