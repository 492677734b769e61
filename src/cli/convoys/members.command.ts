import { Option, type Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, collect, keyHeader, printJson, withExamples, withKey } from '../command.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { defined } from '../values.js';

interface CreateFlags {
  readonly rig?: string;
  readonly owner?: string;
  readonly notify?: string;
  readonly owned?: boolean;
  readonly merge?: 'direct' | 'mr' | 'local';
  readonly target?: string;
  readonly label?: readonly string[];
  readonly description?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

export function addMembers(convoy: Command, io: Io): void {
  addCreate(convoy, io);
  addChange(convoy, io, 'add');
  addChange(convoy, io, 'remove');
}

function addCreate(convoy: Command, io: Io): void {
  const create = cityCommand(convoy, 'create', 'make a convoy of beads and print its id; it closes with the last of them')
    .argument('<title>', 'what it is about')
    .argument('[bead...]', 'its members')
    .option('--owned', 'never closes by itself: its owner lands it')
    .option('--owner <who>', 'who answers for it')
    .option('--notify <who>', 'who is told when it is closed')
    .addOption(new Option('--merge <how>', 'how the work of its members is merged').choices(['direct', 'mr', 'local']))
    .option('--target <branch>', 'the branch that it is merged into')
    .option('--label <label>', 'label it; repeatable', collect)
    .option('--description <text>', 'more about it')
    .option('--rig <rig>', "the rig that it belongs to (default: the city's own)")
    .option('--json', 'print the convoy as one JSON line');
  withKey(create);
  withExamples(create, 'svc convoy create "Release 1.4" al-12 al-13', 'svc convoy create "Migration" --owned --owner mayor --notify human');
  create.action(async (title: string, items: string[], _options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<CreateFlags>(action, io);
    const { rig, owner, notify, owned, merge, target, description, label } = flags;
    const labels = label === undefined ? undefined : [...label];
    const body = { title, items, ...defined({ rig, owner, notify, owned, merge, target, description, labels }) };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/convoys', { params, body, signal }));
    if (flags.json === true) return printJson(io, data);
    noteClosed(io, path, data.closed_items);
    return io.out(`${data.id}\n`);
  });
}

function noteClosed(io: Io, path: string, ids: readonly string[] | undefined): void {
  if (ids !== undefined && ids.length > 0) io.err(`${path}: closed already: ${plain(ids.join(', '))}\n`);
}

function addChange(convoy: Command, io: Io, verb: 'add' | 'remove'): void {
  const about = verb === 'add' ? 'take more beads into a convoy; all of them or none' : 'take beads out of a convoy; all of them or none';
  const command = cityCommand(convoy, verb, about)
    .argument('<id>', 'the convoy')
    .argument('<bead...>', 'the beads')
    .option('--json', 'print the answer as one JSON line');
  withExamples(command, `svc convoy ${verb} al-20 al-14 al-15`);
  command.action(async (id: string, items: string[], _options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, id } };
    const body = { items };
    const count = new Set(items).size;
    const what = count === 1 ? items[0]! : `${count} beads`;
    if (verb === 'add') {
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/convoy/{id}/add', { params, body, signal }));
      if (flags.json === true) return printJson(io, { id, ...data });
      noteClosed(io, path, data.closed_items);
      return io.out(`${what} added to ${id}\n`);
    }
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/convoy/{id}/remove', { params, body, signal }));
    return flags.json === true ? printJson(io, { id, ...data }) : io.out(`${what} removed from ${id}\n`);
  });
}
