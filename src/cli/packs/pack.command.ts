import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, keyHeader, printJson, withExamples, withKey } from '../command.js';
import { each } from '../each.js';
import { answered, nameOf } from '../edits.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { defined } from '../values.js';
import { packTable, pinTable, type Pack } from './view.js';

interface AddFlags {
  readonly name?: string;
  readonly version?: string;
  readonly idempotencyKey?: string;
  readonly json?: boolean;
}

/** Repositories are fetched before the answer. */
const FETCH_MS = 90_000;

export function addPack(program: Command, io: Io): void {
  const pack = program.command('pack').description('packs that a city imports: list, add, install and remove them');
  addList(pack, io);
  addAdd(pack, io);
  addInstall(pack, io);
  addRemove(pack, io);
}

function addList(pack: Command, io: Io): void {
  const list = cityCommand(pack, 'list', 'list the imports of a city').option('--json', 'print one JSON line for each');
  withExamples(list, 'svc pack list', 'svc pack list --json');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city } = context;
    await listAll<Pack>(context, {
      empty: 'no imports; add one with `svc pack add`',
      show: (packs) => packTable(packs, io),
      page: async (query) => {
        const params = { path: { cityName: city }, query };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/packs', { params, signal }));
        return { items: data.packs, ...defined({ next_cursor: data.next_cursor }) };
      },
    });
  });
}

function addAdd(pack: Command, io: Io): void {
  const add = cityCommand(pack, 'add', 'import a pack; it is fetched, pinned and runs at once')
    .argument('<source>', 'a repository, or `builtin:<name>` for one that is shipped')
    .option('--name <name>', 'the binding, which begins the names of its agents (default: made from the source)')
    .option('--version <constraint>', 'such as ^1.2 or sha:<commit> (default: the newest and what is compatible)')
    .option('--json', 'print the answer as one JSON line');
  withKey(add);
  withExamples(
    add,
    'svc pack add https://git.example.org/desk.git',
    'svc pack add https://git.example.org/base.git//core --name core2 --version ^1.2',
  );
  add.action(async (source: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<AddFlags>(action, io);
    const body = { source, ...defined({ name: flags.name, version: flags.version }) };
    const params = { path: { cityName: city }, header: keyHeader(flags) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/packs', { params, body, signal }), FETCH_MS);
    await answered(io, flags, data, `${data.name} is imported${data.version === undefined ? '' : ` at ${data.version}`}`);
  });
}

function addInstall(pack: Command, io: Io): void {
  const install = cityCommand(pack, 'install', 'fetch and pin what the files of a city import').option(
    '--json',
    'print the answer as one JSON line',
  );
  withExamples(install, 'svc pack install');
  install.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<AllFlags>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/packs/install', { params, signal }), FETCH_MS);
    if (flags.json === true) return printJson(io, data);
    io.err(data.changed ? 'packs.lock has changed\n' : 'packs.lock stays as it was\n');
    if (data.pins.length > 0) await io.out(pinTable(data.pins, io));
  });
}

function addRemove(pack: Command, io: Io): void {
  const remove = cityCommand(pack, 'remove', 'take imports out of a city')
    .argument('<name...>', 'their bindings; `default-rig:<binding>` is one that new rigs get')
    .option('--json', 'print one JSON line for each');
  withExamples(remove, 'svc pack remove desk', 'svc pack remove default-rig:desk');
  remove.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city, flags } = context;
    await each(context, names, async (given) => {
      const params = { path: { cityName: city, name: nameOf('an import', given) } };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/packs/{name}', { params, signal }), FETCH_MS);
      await answered(io, flags, data, `${data.name} is removed`);
    });
  });
}
