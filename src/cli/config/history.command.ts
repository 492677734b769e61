import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { plain } from '../table.js';
import { defined, numberOf } from '../values.js';
import { diffView, revisionTable, type Revision } from './view.js';

interface DiffFlags {
  readonly from?: string;
  readonly to?: string;
  readonly json?: boolean;
}

const revisionOf = (flag: string, text: string | undefined): number | undefined => (text === undefined ? undefined : numberOf(flag, text));

export function addHistory(config: Command, io: Io): void {
  const diff = cityCommand(config, 'diff', 'compare what a city runs with its files as they are now, or two revisions')
    .option('--from <revision>', 'the older one (default: what the city runs)')
    .option('--to <revision>', 'the newer one (default: the files as they are now)')
    .option('--json', 'print the answer as one JSON line');
  withExamples(diff, 'svc config diff', 'svc config diff --from 3', 'svc config diff --from 3 --to 5');
  diff.action(async (_options, action: Command) => {
    const { api, city, flags, path } = await cityContextOf<DiffFlags>(action, io);
    const query = defined({ from: revisionOf('--from', flags.from), to: revisionOf('--to', flags.to) });
    const params = { path: { cityName: city }, query };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/diff', { params, signal }));
    if (flags.json === true) await printJson(io, data);
    if (data.errors !== undefined) {
      for (const error of data.errors) io.err(`${path}: ${plain(error)}\n`);
      throw new CliError('the files cannot be used as they are now');
    }
    if (flags.json === true) return;
    if (data.total === 0) return io.err('no difference\n');
    await io.out(diffView(data, io));
    const left = data.total - data.differences.length;
    if (left > 0) io.err(`${path}: ${left} more differences are not shown\n`);
  });

  const revisions = cityCommand(config, 'revisions', 'list the revisions of the configuration, newest first');
  withLimit(revisions, '20');
  withExamples(revisions, 'svc config revisions', 'svc config revisions --limit 0 --json');
  revisions.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    await list<Revision>(context, {
      plural: 'revisions',
      empty: 'no revisions yet',
      pageSize: 50,
      show: (rows) => revisionTable(rows, io),
      page: async (query) => {
        const params = { path: { cityName: city }, query };
        return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/revisions', { params, signal }))).data;
      },
    });
  });
}
