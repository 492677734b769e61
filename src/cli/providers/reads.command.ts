import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { showEach } from '../each.js';
import { nameOf } from '../edits.js';
import type { Io } from '../io.js';
import { listAll, type AllFlags } from '../listing.js';
import { providerDetails, providerTable, publicTable, type Provider, type PublicProvider } from './view.js';

const EMPTY = 'no providers; define one with `svc provider create`';

export function addReads(provider: Command, io: Io): void {
  const list = cityCommand(provider, 'list', 'list the providers of a city and the builtin ones, as they are written').option(
    '--json',
    'print one JSON line for each',
  );
  withExamples(list, 'svc provider list', 'svc provider list --json');
  list.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const path = { cityName: context.city };
    await listAll<Provider>(context, {
      empty: EMPTY,
      show: (rows) => providerTable(rows, io),
      page: async (query) =>
        (await ask(context.api, (signal) => context.api.http.GET('/v0/city/{cityName}/providers', { params: { path, query }, signal })))
          .data,
    });
  });

  const show = cityCommand(provider, 'show', 'show providers as they are written; values of their environment are masked')
    .argument('<name...>', 'the providers')
    .option('--json', 'print one JSON line for each');
  withExamples(show, 'svc provider show claude', 'svc provider show claude-team --json');
  show.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api, city, flags } = context;
    let first = true;
    await showEach(context, names, async (given) => {
      const params = { path: { cityName: city, name: nameOf('a provider', given) } };
      const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/provider/{name}', { params, signal }));
      await (flags.json === true ? printJson(io, data) : io.out(`${first ? '' : '\n'}${providerDetails(data)}`));
      first = false;
    });
  });

  const open = cityCommand(provider, 'public', 'list what there is to choose of every provider').option(
    '--json',
    'print one JSON line for each',
  );
  withExamples(open, 'svc provider public', 'svc provider public --json');
  open.action(async (_options, action: Command) => {
    const context = await cityContextOf<AllFlags>(action, io);
    const { api } = context;
    const path = { cityName: context.city };
    await listAll<PublicProvider>(context, {
      empty: EMPTY,
      show: (rows) => publicTable(rows, io),
      page: async (query) =>
        (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/providers/public', { params: { path, query }, signal }))).data,
    });
  });
}
