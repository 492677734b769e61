import type { Command } from 'commander';
import { ask } from '../api.js';
import { cityCommand, cityContextOf, withExamples } from '../command.js';
import { answered, matchHeader, nameOf, withIfMatch } from '../edits.js';
import { each } from '../each.js';
import type { Io } from '../io.js';
import { readText } from '../values.js';
import { ofFormula } from './hints.js';
import { nameOfFile } from './validate.command.js';

interface Flags {
  readonly name?: string;
  readonly ifMatch?: string;
  readonly json?: boolean;
}

export function addEdits(formula: Command, io: Io): void {
  const save = cityCommand(formula, 'save', 'store a formula in the files of the city, over what packs have under its name')
    .argument('<file>', 'the file; - reads standard input')
    .option('--name <name>', 'the formula (default: the name of the file)')
    .option('--json', 'print the answer as one JSON line');
  withIfMatch(save, 'the configuration');
  withExamples(save, 'svc formula save greet.toml', 'svc formula save - --name greet < greet.toml');
  save.action(async (file: string, _options, action: Command) => {
    const { api, city, flags } = await cityContextOf<Flags>(action, io);
    const name = nameOf('a formula', flags.name ?? nameOfFile(file));
    const text = await readText('<file>', file, io);
    const params = { path: { cityName: city, name }, header: matchHeader(flags, [name]) };
    const { data } = await ask(api, (signal) => api.http.PUT('/v0/city/{cityName}/formulas/{name}', { params, ...raw(text), signal }));
    await answered(io, flags, data, `the formula ${name} is saved`);
  });

  const remove = cityCommand(
    formula,
    'delete',
    'take formulas out of the files of the city; what packs have under their names counts again',
  )
    .argument('<name...>', 'the formulas')
    .option('--json', 'print one JSON line for each');
  withIfMatch(remove, 'the configuration');
  withExamples(remove, 'svc formula delete greet');
  remove.action(async (names: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const { api, city, flags } = context;
    const header = matchHeader(flags, names);
    await each(context, names, async (given) => {
      const params = { path: { cityName: city, name: nameOf('a formula', given) }, header };
      const { data } = await ask(api, (signal) => api.http.DELETE('/v0/city/{cityName}/formulas/{name}', { params, signal })).catch(
        ofFormula(given),
      );
      await answered(io, flags, data, `the formula ${given} is deleted`);
    });
  });
}

/** A body that is sent as it is. */
export function raw(text: string): { body: string; bodySerializer: (body: string) => string; headers: Record<string, string> } {
  return { body: text, bodySerializer: (body) => body, headers: { 'Content-Type': 'application/octet-stream' } };
}
