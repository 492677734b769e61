import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples } from '../command.js';
import { hinted } from '../identity.js';
import type { Io } from '../io.js';
import { list, withLimit, type ListFlags } from '../listing.js';
import { facts } from '../table.js';
import { runFacts, runTable, stepTree, type Run } from './view.js';

/** Failed steps whose reasons are asked for: the others failed with them, mostly. */
const MAX_REASONS = 10;

export function addReads(run: Command, io: Io): void {
  addList(run, io);
  addCensus(run, io);
  addShow(run, io);
}

function addList(run: Command, io: Io): void {
  const command = cityCommand(run, 'list', 'list runs: those that go on, those that wait, those that are over');
  withLimit(command);
  withExamples(command, 'svc run list', 'svc run list --limit 0 --json');
  command.action(async (_options, action: Command) => {
    const context = await cityContextOf<ListFlags>(action, io);
    const { api, city } = context;
    await list<Run>(context, {
      plural: 'runs',
      empty: 'no runs; launch a formula with `svc sling <target> --formula <name>`',
      show: (runs) => runTable(runs, io),
      page: async (query) => {
        const params = { path: { cityName: city }, query };
        const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs', { params, signal }));
        const { runs: items, next_cursor: next, status_counts: counts } = data;
        const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
        return { items, total, ...(next === undefined ? {} : { next_cursor: next }) };
      },
    });
  });
}

function addCensus(run: Command, io: Io): void {
  const census = cityCommand(run, 'census', 'count the runs by status').option('--json', 'print the answer as one JSON line');
  withExamples(census, 'svc run census');
  census.action(async (_options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/census', { params, signal }));
    if (flags.json === true) return printJson(io, data);
    return io.out(facts(Object.entries(data.status_counts)));
  });
}

function addShow(run: Command, io: Io): void {
  const show = cityCommand(run, 'show', 'show a run and its steps as a tree')
    .argument('<id>', 'the run')
    .option('--json', 'print the run with its steps as one JSON line');
  withExamples(show, 'svc run show al-20');
  show.action(async (id: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<{ json?: boolean }>(action, io);
    const params = { path: { cityName: city, run_id: id } };
    const { data } = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/{run_id}', { params, signal })).catch(
      hinted(404, 'see `svc run list`'),
    );
    const steps = await stepsOf();
    if (flags.json === true) return printJson(io, { ...data, steps });
    const reasons = await reasonsOf(steps);
    await io.out(`${runFacts(data)}${steps.length === 0 ? '' : `\n${stepTree(steps, io.width, reasons)}`}`);
    if ([...reasons.values()].includes('missing_outcome'))
      io.err('a step with `retry` has passed when its attempt is closed with `svc bead close <id> --outcome pass`\n');
    return;

    /** Why steps failed, which their beads say. */
    async function reasonsOf(all: readonly Schemas['RunStep'][]): Promise<Map<string, string>> {
      const failed = all.filter((step) => step.status === 'failed' && step.check === undefined).slice(0, MAX_REASONS);
      const found = await Promise.all(
        failed.map(async (step): Promise<[string, string]> => {
          const path = { cityName: city, id: step.id };
          const answer = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}', { params: { path }, signal }));
          return [step.id, answer.data.metadata?.['gc.failure_reason'] ?? ''];
        }),
      );
      return new Map(found.filter(([, reason]) => reason !== ''));
    }

    async function stepsOf(): Promise<Schemas['RunStep'][]> {
      const answer = await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/runs/{run_id}/steps', { params, signal }));
      return answer.data.steps ?? [];
    }
  });
}
