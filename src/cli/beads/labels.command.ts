import type { Command } from 'commander';
import { ask, type Schemas } from '../api.js';
import { cityCommand, cityContextOf, printJson, withExamples, type CityContext } from '../command.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

interface Flags {
  readonly json?: boolean;
}

export function addLabels(bead: Command, io: Io): void {
  const label = bead.command('label').description('change the labels of a bead');
  addVerb(label, io, 'add', '<label...>', 'add labels', 'svc bead label add al-12 web urgent', addAll);
  addVerb(label, io, 'remove', '<label...>', 'take labels away', 'svc bead label remove al-12 urgent', removeAll);
  addVerb(label, io, 'set', '[label...]', 'replace all labels; without any none are left', 'svc bead label set al-12 web', setAll);
}

type Change = (context: CityContext<Flags>, id: string, labels: string[]) => Promise<Schemas['Bead']>;

function addVerb(parent: Command, io: Io, name: string, labels: string, about: string, example: string, change: Change): void {
  const command = cityCommand(parent, name, about)
    .argument('<id>', 'the bead')
    .argument(labels, 'labels')
    .option('--json', 'print the bead as one JSON line');
  withExamples(command, example);
  command.action(async (id: string, given: string[], _options, action: Command) => {
    const context = await cityContextOf<Flags>(action, io);
    const bead = await change(context, id, given);
    if (context.flags.json === true) return printJson(io, bead);
    const left = bead.labels ?? [];
    return io.out(`${plain(`${id} has ${left.length === 0 ? 'no labels' : `labels ${left.join(', ')}`}`)}\n`);
  });
}

const addAll: Change = async ({ api, city }, id, labels) => {
  const params = { path: { cityName: city, id } };
  const body = { labels };
  return (await ask(api, (signal) => api.http.POST('/v0/city/{cityName}/bead/{id}/labels', { params, body, signal }))).data;
};

/** All of them in one change, not one request each. */
const removeAll: Change = async ({ api, city }, id, labels) => {
  const path = { cityName: city, id };
  const params = { path };
  const body = { remove_labels: labels };
  await ask(api, (signal) => api.http.PATCH('/v0/city/{cityName}/bead/{id}', { params, body, signal }));
  return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/bead/{id}', { params: { path }, signal }))).data;
};

const setAll: Change = async ({ api, city }, id, labels) => {
  const params = { path: { cityName: city, id } };
  const body = { labels };
  return (await ask(api, (signal) => api.http.PUT('/v0/city/{cityName}/bead/{id}/labels', { params, body, signal }))).data;
};
