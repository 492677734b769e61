import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { defined } from '../values.js';
import { explainView, type Value } from './view.js';

export function addExplain(config: Command, io: Io): void {
  const explain = cityCommand(config, 'explain', 'show where values of the configuration were written').argument(
    '[key]',
    'only this key and what is below it (default: everything)',
  );
  withLimit(explain, '200');
  withExamples(
    explain,
    'svc config explain workspace',
    'svc config explain agents.core.worker.provider',
    'svc config explain --limit 0 --json',
  );
  explain.action(async (path: string | undefined, _options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    await list<Value>(context, {
      plural: 'values',
      empty: 'the configuration is empty',
      pageSize: 5_000,
      show: (values) => explainView(values, io),
      page: async (page) => {
        const params = { path: { cityName: city }, query: { ...defined({ path }), ...page } };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/config/explain', { params, signal }));
        if (path !== undefined && data.values_total === 0)
          throw new CliError(`nothing is set at ${path}: see \`svc config show --composed\``, EXIT.notFound);
        return { items: data.values ?? [], ...defined({ total: data.values_total, next_cursor: data.next_cursor }) };
      },
    });
  });
}
