import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';

interface Flags {
  readonly beads?: boolean;
  readonly json?: boolean;
}

export function addEndings(run: Command, io: Io): void {
  const cancel = cityCommand(run, 'cancel', 'close what is open of a run, and ask the sessions that are at it to stop')
    .argument('<id>', 'the run')
    .option('--json', 'print the answer as one JSON line');
  withExamples(cancel, 'svc run cancel al-20');
  cancel.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, run_id: id } };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/runs/{run_id}/cancel', { params, signal })).catch(
      hinted(404, 'see `svc run list`'),
    );
    if (flags.json === true) return printJson(io, data);
    return io.out(data.closed === 0 ? `run ${id} was canceled before\n` : `run ${id} is canceled: ${data.closed} beads closed\n`);
  });

  const remove = cityCommand(run, 'delete', 'end a run as skipped; with --beads remove it with all its beads')
    .argument('<id>', 'the run')
    .option('--beads', 'remove its beads for good')
    .option('--json', 'print the answer as one JSON line');
  withExamples(remove, 'svc run delete al-20', 'svc run delete al-20 --beads');
  remove.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const params = { path: { cityName: city, workflow_id: id }, query: { delete: flags.beads === true } };
    const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/workflow/{workflow_id}', { params, signal })).catch(
      hinted(404, 'see `svc run list`'),
    );
    if (flags.json === true) return printJson(io, data);
    return io.out(`run ${id}: ${data.closed} beads closed, ${data.deleted} removed\n`);
  });
}
