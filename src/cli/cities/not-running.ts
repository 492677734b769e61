import { ask, type Api } from '../api.js';
import { InterruptedError, TimedOutError } from '../errors.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

const NAMED = 5;
/** The list is only for a word more. */
const PATIENCE_MS = 2_000;

/** Says which cities, of these or of all, a look at those that run leaves out. @throws InterruptedError */
export async function tellNotRunning(api: Api, io: Io, only: readonly string[] | undefined): Promise<void> {
  try {
    // One page of the default size has 100,000.
    const { data } = await ask(api, (signal) => api.http.GET('/v0/cities', { signal }), PATIENCE_MS);
    const all = (data.items ?? []).filter(({ name, running }) => !running && (only === undefined || only.includes(name)));
    if (all.length === 0) return;
    const names = all.slice(0, NAMED).map(({ name }) => plain(name));
    const more = all.length > NAMED ? ` and ${all.length - NAMED} more` : '';
    const count = `${data.next_cursor === undefined ? '' : 'at least '}${all.length} ${all.length === 1 ? 'city does' : 'cities do'} not run`;
    io.err(`${count}, and nothing of ${all.length === 1 ? 'it' : 'theirs'} is here: ${names.join(', ')}${more}; see \`svc city list\`\n`);
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    // Without a word it would seem that all of them run.
    if (error instanceof TimedOutError) io.err('which cities do not run is not known: see `svc city list`\n');
  }
}
