import type { Command } from 'commander';
import { sleep } from '../../client/sleep.js';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples, type CityContext } from '../command.js';
import { CliError, InterruptedError } from '../errors.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { TOGETHER_MS } from '../listing.js';
import { untilAnswered } from '../pauses.js';
import { cut, plain } from '../table.js';
import { aboutUnits, opening, OVER, stepTree, type Run, type Step } from './view.js';

interface Seen {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** The position of the log that this is at least. */
  readonly index: string;
}
type Flags = { json?: boolean };

export function addWatch(run: Command, io: Io): void {
  const watch = cityCommand(run, 'watch', 'follow a run to its end: its steps as a tree that is drawn anew, or a line a change')
    .argument('<id>', 'the run')
    .option('--json', 'print one JSON line for each step that changes, and the run at the end');
  withExamples(watch, 'svc run watch al-20', 'svc run watch al-20 --json');
  watch.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const drawing = context.flags.json === true ? jsonLines(io) : drawingOn(io);
    let seen = await read(context, id);
    await drawing(seen);
    while (!OVER.includes(seen.run.status) && !io.signal.aborted) {
      const { index } = seen;
      await untilAnswered(io, context.path, () => moved(context, index));
      // What happens in the city comes together, and most of it is about other things.
      await sleep(TOGETHER_MS, io.signal);
      if (io.signal.aborted) break;
      seen = await untilAnswered(io, context.path, () => read(context, id));
      await drawing(seen);
    }
    if (!OVER.includes(seen.run.status)) throw new InterruptedError();
    if (context.flags.json === true) await printJson(io, seen.run);
    const { status, last_error: error } = seen.run;
    if (status !== 'completed')
      throw new CliError(`run ${id} is ${status}${error?.message === undefined ? '' : `: ${error.message}`}; see \`svc run show ${id}\``);
  });
}

/** The index is that of the older of the two: what has happened since is read again. */
async function read({ api, city }: CityContext<Flags>, id: string): Promise<Seen> {
  const params = { path: { cityName: city, run_id: id } };
  const { data: run, response } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/{run_id}', { params, signal })).catch(
    hinted(404, 'see `svc run list`'),
  );
  const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/{run_id}/steps', { params, signal }));
  return { run, steps: data.steps ?? [], index: response.headers.get('x-svc-index') ?? '0' };
}

/** The service waits for up to a sixteenth longer than it is asked to, so that not all come back at once. */
const WAIT = { s: 30, answeredInMs: 45_000 };

/** Until the log of the city has moved on, or half a minute has gone by. */
export async function moved({ api, city }: CityContext<Flags>, index: string): Promise<void> {
  const params = { path: { cityName: city }, query: { index, wait: `${WAIT.s}s`, limit: 1 } };
  await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/molecules', { params, signal }), WAIT.answeredInMs);
}

type Drawing = (seen: Pick<Seen, 'run' | 'steps'>) => Promise<void>;

/** On a terminal the tree is drawn over itself as long as it fits there: what has left the screen cannot be drawn over. */
export function drawingOn(io: Io): Drawing {
  let over = io.interactive && io.width !== undefined;
  let above = 0;
  const told = lines(io);
  return async (seen) => {
    const { run, steps } = seen;
    const text = `${headOf(run, io.width)}${stepTree(steps, io.width)}`;
    const rows = text.split('\n').length - 1;
    over &&= rows < (io.height ?? Infinity);
    if (!over) return told(seen);
    await io.out(`${above === 0 ? '' : `\u001b[${above}A\u001b[J`}${text}`);
    above = rows;
  };
}

/** One row of a terminal: what is drawn over is counted by its lines. */
const headOf = ({ run_id: id, status, title }: Run, width = Infinity): string => `${cut(plain(`${id} [${status}] ${title}`), width)}\n`;

/** The whole tree once, then what changes. */
function lines(io: Io): Drawing {
  let first = true;
  const changes = changed();
  return async (seen) => {
    const { run, steps } = seen;
    const news = changes(steps);
    if (first) await io.out(`${headOf(run, io.width)}${stepTree(steps, io.width)}`);
    else
      for (const step of news) await io.out(`${plain(`${step.id} [${step.status}] ${step.title}${aboutUnits(step)}${opening(step)}`)}\n`);
    if (OVER.includes(run.status)) await io.out(headOf(run));
    first = false;
  };
}

function jsonLines(io: Io): Drawing {
  const changes = changed();
  return async ({ steps }) => {
    for (const step of changes(steps)) await printJson(io, step);
  };
}

/** Steps that are not what they were. */
function changed(): (steps: readonly Step[]) => Schemas['RunStep'][] {
  const last = new Map<string, string>();
  return (steps) =>
    steps.filter(({ id, status, units = [] }) => {
      const before = last.get(id);
      const now = [status, ...units.map((unit) => unit.status)].join(' ');
      last.set(id, now);
      return before !== now;
    });
}
