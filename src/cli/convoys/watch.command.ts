import type { Command } from 'commander';
import { sleep } from '../../client/sleep.js';
import { ask, failing, telling, type Schemas } from '../api.js';
import { stateOf, type Bead } from '../beads/view.js';
import { cityCommand, cityContextOf, printJson, withExamples, type CityContext } from '../command.js';
import { CliError, InterruptedError } from '../errors.js';
import type { Io } from '../io.js';
import { TOGETHER_MS } from '../listing.js';
import { pausesOf, untilAnswered } from '../pauses.js';
import { cut, plain, widthOf } from '../table.js';

interface Flags {
  readonly json?: boolean;
}
type Answer = Schemas['ConvoyGetResponse'];
/** A convoy with its members, as they stand. */
interface Seen {
  readonly convoy: Bead;
  readonly members: readonly Bead[];
  /** The position of the log that this is at least. */
  readonly index: number;
}

export function addWatch(convoy: Command, io: Io): void {
  const watch = cityCommand(convoy, 'watch', 'follow a convoy to its end: its members as a tree that is drawn anew, or a line a change')
    .argument('<id>', 'the convoy')
    .option('--json', 'print one JSON line for each member that changes, and the convoy at the end');
  withExamples(watch, 'svc convoy watch al-20', 'svc convoy watch al-20 --json');
  watch.action(async (id: string, _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags, path } = context;
    const draw = flags.json === true ? jsonLines(io) : drawingOn(io);
    const enough = new AbortController();
    const signal = AbortSignal.any([io.signal, enough.signal]);
    const after = await api.client.head({ city }).catch(failing(api));
    let seen = await read(context, id);
    await draw(seen);
    if (!isOver(seen)) {
      const types = ['bead.created', 'bead.updated', 'bead.closed', 'bead.deleted', 'convoy.closed'];
      for await (const event of telling(api, api.client.events({ city, types, after, signal, ...pausesOf(io, path) }))) {
        // Beads of the whole city tell of themselves: what was read since shows it already.
        if (event.seq <= seen.index) continue;
        await sleep(TOGETHER_MS, signal);
        if (signal.aborted) break;
        seen = await untilAnswered(io, path, () => read(context, id));
        await draw(seen);
        if (isOver(seen)) break;
      }
    }
    enough.abort();
    if (!isOver(seen)) throw new InterruptedError();
    if (flags.json === true) await printJson(io, seen.convoy);
  });
}

const isOver = ({ convoy }: Seen): boolean => convoy.status === 'closed';

async function read({ api, city }: CityContext<Flags>, id: string): Promise<Seen> {
  const params = { path: { cityName: city, id } };
  const { data, response } = await ask<Answer>(api, (signal) => api.http.GET('/v0/city/{cityName}/convoy/{id}', { params, signal }));
  if (data.convoy === undefined || data.progress === undefined) throw new CliError(`${id} is not a convoy`);
  return { convoy: data.convoy, members: data.children ?? [], index: Number(response.headers.get('x-svc-index') ?? 0) };
}

const BAR = 20;

/** `al-20 [open] The parser  ████████░░░░ 2 of 5`, in one row of a terminal: what is drawn over is counted by its lines. */
function headOf({ convoy, members }: Seen, width = Infinity): string {
  const closed = members.filter(({ status }) => status === 'closed').length;
  const full = members.length === 0 ? 0 : Math.round((closed / members.length) * BAR);
  const progress = `  ${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${closed} of ${members.length}`;
  const about = plain(`${convoy.id} [${convoy.status}] ${convoy.title}`);
  return cut(`${cut(about, Math.max(1, width - widthOf(progress)))}${progress}`, width);
}

const MARKS: Readonly<Record<string, string>> = { closed: '✓', in_progress: '●' };

function lineOf(member: Bead): string {
  const who = member.assignee === undefined ? '' : ` (${member.assignee})`;
  return plain(`${MARKS[member.status] ?? '○'} ${member.id} [${stateOf(member)}]${who} ${member.title}`);
}

function tree(seen: Seen, io: Io): string {
  const last = seen.members.length - 1;
  const lines = seen.members.map((member, n) => cut(`${n === last ? '└─' : '├─'} ${lineOf(member)}`, io.width ?? Infinity));
  return [headOf(seen, io.width), ...lines].map((line) => `${line}\n`).join('');
}

type Drawing = (seen: Seen) => Promise<void>;

/** On a terminal the tree is drawn over itself as long as it fits there; elsewhere it comes once, then what changes. */
function drawingOn(io: Io): Drawing {
  let over = io.interactive && io.width !== undefined;
  let above = 0;
  const changes = changed();
  let first = true;
  return async (seen) => {
    const news = changes(seen.members);
    const text = tree(seen, io);
    const rows = text.split('\n').length - 1;
    over &&= rows < (io.height ?? Infinity);
    if (over) await io.out(`${above === 0 ? '' : `\u001b[${above}A\u001b[J`}${text}`);
    else if (first) await io.out(text);
    else {
      for (const member of news) await io.out(`${lineOf(member)}\n`);
      if (isOver(seen)) await io.out(`${headOf(seen)}\n`);
    }
    above = rows;
    first = false;
  };
}

function jsonLines(io: Io): Drawing {
  const changes = changed();
  return async ({ members }) => {
    for (const member of changes(members)) await printJson(io, member);
  };
}

/** Members that do not show what they showed. */
function changed(): (members: readonly Bead[]) => Bead[] {
  const last = new Map<string, string>();
  return (members) =>
    members.filter((member) => {
      const now = lineOf(member);
      const before = last.get(member.id);
      last.set(member.id, now);
      return before !== now;
    });
}
