import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { each } from '../each.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

interface Flags {
  readonly reason?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function addEndings(convoy: Command, io: Io): void {
  addClose(convoy, io);
  addLand(convoy, io);
  addDelete(convoy, io);
}

function addClose(convoy: Command, io: Io): void {
  const close = cityCommand(convoy, 'close', 'close convoys, whatever their members are doing')
    .argument('<id...>', 'the convoys')
    .option('--reason <text>', 'why, kept with the convoy')
    .option('--json', 'print one JSON line for each');
  withExamples(close, 'svc convoy close al-20 --reason "no longer wanted"');
  close.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const body = flags.reason === undefined ? {} : { reason: flags.reason };
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id } };
      const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/convoy/{id}/close', { params, body, signal }));
      if (flags.json === true) await printJson(io, { id, ...data });
      else await io.out(`${id} is closed\n`);
    });
  });
}

function addLand(convoy: Command, io: Io): void {
  const land = cityCommand(convoy, 'land', 'close an owned convoy whose members are all closed')
    .argument('<id>', 'the convoy')
    .option('--force', 'also when members are open')
    .option('--dry-run', 'only tell whether it would land')
    .option('--json', 'print the answer as one JSON line');
  withExamples(land, 'svc convoy land al-20', 'svc convoy land al-20 --dry-run');
  land.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, id } };
    const body = { force: flags.force === true, dry_run: flags.dryRun === true };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/convoy/{id}/land', { params, body, signal }));
    if (flags.json === true) return printJson(io, data);
    const more = data.total - data.closed - data.open_items.length;
    const left = `, still open: ${plain(data.open_items.join(', '))}${more > 0 ? `, and ${more} more` : ''}`;
    const open = data.open_items.length === 0 ? '' : left;
    return io.out(`${id} ${flags.dryRun === true ? 'would land' : 'has landed'}: ${data.closed} of ${data.total} closed${open}\n`);
  });
}

function addDelete(convoy: Command, io: Io): void {
  const remove = cityCommand(convoy, 'delete', 'close convoys; their members stay as they are')
    .argument('<id...>', 'the convoys')
    .option('--json', 'print one JSON line for each');
  withExamples(remove, 'svc convoy delete al-20');
  remove.action(async (ids: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    await each(context, ids, async (id) => {
      const params = { path: { cityName: city, id } };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/convoy/{id}', { params, signal }));
      if (flags.json === true) await printJson(io, { id, ...data });
      else await io.out(`${id} is closed\n`);
    });
  });
}
